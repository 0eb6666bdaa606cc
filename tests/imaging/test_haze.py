"""Haze: the scattering model, by hand and by its limits."""

import numpy as np
import pytest

from idemnet.imaging.haze import add_haze, make_hazy, transmission
from idemnet.parameters.synthesize import HazeParameters

CLEAR = np.random.default_rng(0).integers(0, 256, (12, 16, 3), np.uint8)
DEPTH = np.linspace(0, 1, 12 * 16, dtype=np.float32).reshape(12, 16)


def rng():
    return np.random.default_rng(1)


def test_one_pixel_by_hand():
    pixel = np.array([[[10, 100, 200]]], np.uint8)
    depth = np.array([[0.5]], np.float32)
    # t = exp(-1.2 * 0.5) = 0.548812; airlight 0.8 is 204.
    assert add_haze(pixel, depth, 1.2, 0.8).tolist() == [[[98, 147, 202]]]


def test_transmission_falls_from_one_with_depth_and_density():
    thin, thick = transmission(DEPTH, 0.6), transmission(DEPTH, 1.8)
    assert thin.dtype == np.float32
    assert thin.flat[0] == thick.flat[0] == 1
    assert (np.diff(thin.ravel()) < 0).all()
    assert (thick.ravel()[1:] < thin.ravel()[1:]).all() and thick.min() > 0
    assert thick.flat[-1] == pytest.approx(np.exp(-1.8))


def test_what_is_here_stays_as_it_is():
    assert (add_haze(CLEAR, np.zeros((12, 16), np.float32), 1.8, 0.7) == CLEAR).all()


def test_what_is_infinitely_far_is_airlight():
    far = np.full((12, 16), 50, np.float32)
    assert (add_haze(CLEAR, far, 1.8, 0.8) == 204).all()


def test_all_is_between_the_image_and_airlight():
    hazy = add_haze(CLEAR, DEPTH, 1.0, 0.8)
    assert (hazy >= np.minimum(CLEAR, 204)).all()
    assert (hazy <= np.maximum(CLEAR, 204)).all()


def test_stronger_haze_leaves_less_contrast():
    haze = HazeParameters(airlight=(0.8, 0.8))
    left = [make_hazy(CLEAR, DEPTH, haze, strength, rng()).std() for strength in (0, 0.5, 1)]
    assert left[0] > left[1] > left[2]


def test_the_ends_of_the_strength_are_the_ends_of_beta():
    haze = HazeParameters(beta=(0.6, 1.8), airlight=(0.9, 0.9))
    for strength, beta in ((0, 0.6), (1, 1.8)):
        assert (
            make_hazy(CLEAR, DEPTH, haze, strength, rng()) == add_haze(CLEAR, DEPTH, beta, 0.9)
        ).all()


def test_nearer_than_the_nearest_there_is_no_haze():
    haze = HazeParameters(nearest=0.5, airlight=(0.9, 0.9))
    hazy = make_hazy(CLEAR, DEPTH, haze, 1, rng())
    near = DEPTH <= 0.5
    assert (hazy[near] == CLEAR[near]).all()
    stretched = np.clip(2 * DEPTH - 1, 0, 1).astype(np.float32)
    assert np.abs(hazy.astype(int) - add_haze(CLEAR, stretched, 1.8, 0.9)).max() <= 1


def test_the_same_seed_gives_the_same_haze_and_another_another():
    one, same = (make_hazy(CLEAR, DEPTH, HazeParameters(), 0.5, rng()) for _ in range(2))
    other = make_hazy(CLEAR, DEPTH, HazeParameters(), 0.5, np.random.default_rng(2))
    assert (one == same).all() and (one != other).any()
