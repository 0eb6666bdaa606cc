"""Rain: light that is added in streaks, more of it in heavier rain."""

import numpy as np
import pytest

from idemnet.imaging.rain import (
    VEIL_BRIGHTNESS,
    StreakLayer,
    add_rain,
    draw_layers,
    draw_streaks,
    make_rainy,
)
from idemnet.parameters.synthesize import RainParameters

CLEAN = np.random.default_rng(0).integers(0, 200, (96, 128, 3), np.uint8)
RAIN = RainParameters()


def rng(seed=1):
    return np.random.default_rng(seed)


def layer(**changes):
    settings = {"angle": 0.0, "length": 24.0, "width": 1.5, "density": 0.1, "brightness": 0.5}
    return StreakLayer(**{**settings, **changes})


@pytest.mark.parametrize("strength", [0, 0.4, 1])
def test_rain_never_darkens(strength):
    assert (make_rainy(CLEAN, RAIN, strength, rng()) >= CLEAN).all()


def test_streaks_add_the_same_light_to_every_colour_until_white():
    streaks = np.full((96, 128), 0.25, np.float32)
    rainy = add_rain(CLEAN, streaks, veil=0)
    assert (rainy == np.minimum(np.rint(CLEAN + 63.75), 255)).all()
    assert (rainy == 255).any()


def test_a_veil_hides_a_share_behind_grey():
    pixel = np.array([[[0, 100, 250]]], np.uint8)
    none = np.zeros((1, 1), np.float32)
    grey = 255 * VEIL_BRIGHTNESS
    expected = [round(0.2 * grey), round(100 + 0.2 * (grey - 100)), 250]
    assert add_rain(pixel, none, veil=0.2).tolist() == [[expected]]
    assert add_rain(pixel, none, veil=0).tolist() == pixel.tolist()


def test_heavier_rain_adds_more():
    def added(strength):
        rainy = [make_rainy(CLEAN, RAIN, strength, rng(seed)) for seed in range(8)]
        return np.mean(rainy) - CLEAN.mean()

    assert 1 < added(0.1) < added(0.5) < added(0.9)


def test_heavier_rain_has_more_layers_within_their_ranges():
    counts = [len(draw_layers(RAIN, strength, rng())) for strength in (0, 0.5, 1)]
    assert counts == [1, 3, 5]
    for one in draw_layers(RAIN, 1, rng()):
        assert RAIN.length[0] <= one.length <= RAIN.length[1]
        assert RAIN.width[0] <= one.width <= RAIN.width[1]
        assert RAIN.brightness[0] <= one.brightness <= RAIN.brightness[1]
    angles = [one.angle for one in draw_layers(RAIN, 1, rng())]
    assert len(set(angles)) == 5 and np.ptp(angles) < 45


@pytest.mark.parametrize("density", [0.05, 0.3])
def test_density_is_about_the_share_under_streaks(density):
    light = draw_streaks(layer(density=density), 400, 500, rng())
    lit = 1 - np.exp(-density)  # of streaks that fall anywhere, some cross
    assert (light > 0.1).mean() == pytest.approx(lit, rel=0.35)


@pytest.mark.parametrize(("angle", "along"), [(0, 0), (90, 1)])
def test_streaks_run_where_the_angle_says(angle, along):
    light = draw_streaks(layer(angle=angle, length=40), 200, 200, rng())
    change = [np.abs(np.diff(light, axis=axis)).mean() for axis in (0, 1)]
    assert change[along] < 0.3 * change[1 - along]


def test_a_positive_angle_leans_to_the_right():
    light = draw_streaks(layer(angle=45, length=40), 200, 200, rng())
    right = np.abs(light[1:, :-1] - light[:-1, 1:]).mean()  # from below left to above right
    left = np.abs(light[1:, 1:] - light[:-1, :-1]).mean()
    assert right < 0.3 * left


def test_streaks_are_as_likely_at_the_edges_as_in_the_middle():
    light = np.mean([draw_streaks(layer(), 60, 60, rng(seed)) for seed in range(200)], axis=0)
    for edge in (light[:6], light[-6:], light[:, :6], light[:, -6:]):
        assert edge.mean() == pytest.approx(light[20:40, 20:40].mean(), rel=0.15)


@pytest.mark.parametrize("shape", [(1, 1), (7, 300), (33, 20)])
def test_small_and_odd_pictures_get_wet_too(shape):
    rainy = make_rainy(np.zeros((*shape, 3), np.uint8), RAIN, 1, rng())
    assert rainy.shape == (*shape, 3) and rainy.max() > 0


def test_the_same_seed_gives_the_same_rain_and_another_another():
    one, same = (make_rainy(CLEAN, RAIN, 0.5, rng()) for _ in range(2))
    assert (one == same).all()
    assert (one != make_rainy(CLEAN, RAIN, 0.5, rng(2))).any()
