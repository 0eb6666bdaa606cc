import numpy as np
import pytest

from idemnet.imaging.motion import DRIFT, HAND, draw_camera, smooth_path

many_seeds = pytest.mark.parametrize("seed", range(5))


@many_seeds
@pytest.mark.parametrize("band", [HAND, DRIFT])
def test_velocity_never_jumps(seed, band):
    path = smooth_path(np.random.default_rng(seed), 2.0, 15, band)
    velocity = np.diff([path(moment) for moment in range(2000)])
    assert np.abs(np.diff(velocity)).max() < 0.7 * 2.0


@many_seeds
def test_path_is_as_fast_as_asked(seed):
    path = smooth_path(np.random.default_rng(seed), 2.0, 15)
    velocity = np.diff([path(moment) for moment in range(5000)])
    assert np.sqrt(np.mean(velocity**2)) == pytest.approx(2.0, rel=0.1)


@many_seeds
def test_path_is_where_it_should_be_in_the_middle(seed):
    path = smooth_path(np.random.default_rng(seed), 2.0, 15, HAND, start=7.5)
    assert path(15) == pytest.approx(7.5)


@many_seeds
def test_camera_pans_faster_when_it_shakes_more(seed):
    def travel(speed):
        camera = draw_camera(np.random.default_rng(seed), speed, 15, reach=120)
        shifts = [camera.view.at(moment).shift for moment in range(31)]
        return np.hypot(*np.diff(shifts, axis=0).T).sum()

    assert travel(2.0) == pytest.approx(10 * travel(0.2))
