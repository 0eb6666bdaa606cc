"""Samples are a pure function of seed, epoch and place."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import gaussian_filter

from idemnet.imaging.augment import change_saturation, to_float, turn
from idemnet.steps.data import PatchRow
from idemnet.training.order import (
    Draw,
    Share,
    batches,
    group_by_pair,
    make_sample,
    order_epoch,
    share_epoch,
    shuffled,
)

from .tiny import SIZE, RandomPatches

SETTINGS = {"seed": 3, "patch_size": SIZE, "crop": 16, "saturation": (0.8, 1.2)}


def sample(draw, patches=RandomPatches(), **changes):  # noqa: B008
    return make_sample(patches, group_by_pair(patches), draw, **{**SETTINGS, **changes})


def test_the_same_draw_gives_the_same_sample_and_any_other_another():
    one, again = sample(Draw(1, 2)), sample(Draw(1, 2))
    assert (one[0] == again[0]).all() and (one[1] == again[1]).all() and one[2] == again[2]
    others = [sample(Draw(2, 2)), sample(Draw(1, 3)), sample(Draw(1, 2), seed=4)]
    assert all(not np.array_equal(one[0], other[0]) for other in others)


def test_an_epoch_takes_every_pair_once():
    places = [draw.place for batch in batches(12, 4, 2, 0) for draw in batch]
    assert places == [*range(12), *range(12)]
    assert sorted(shuffled(0, 0, 12)) == list(range(12))
    assert list(shuffled(0, 0, 12)) != list(shuffled(0, 1, 12))


def test_one_source_is_drawn_in_the_epoch_s_order():
    for epoch in range(4):
        assert (order_epoch(3, epoch, (Share(12, 12),)) == shuffled(3, epoch, 12)).all()


@dataclass(frozen=True)
class TwoSources(RandomPatches):
    """Patches of a mix: 20 pairs of one source, the others of another."""

    @property
    def rows(self) -> list[PatchRow]:
        names = [f"{'real' if n < 20 else 'scenes'}/s{n}" for n in range(self.count)]
        return [PatchRow(name, "1", 5, 0, 0, 0, 1) for name in names]


MIXED = TwoSources(count=80)
SHARES = share_epoch(MIXED, group_by_pair(MIXED), {"real": 3.0, "scenes": 1.0})


def test_an_epoch_is_as_long_as_all_pairs_and_divided_by_weight():
    real, scenes = SHARES
    assert real == Share(20, 60) and scenes == Share(60, 20)


def test_every_batch_is_mixed_by_weight():
    for epoch in range(3):
        real = order_epoch(3, epoch, SHARES) < 20
        assert (real.reshape(-1, 8).sum(axis=1) == 6).all()


def test_every_pair_of_a_source_is_drawn_equally_often():
    drawn = np.concatenate([order_epoch(3, epoch, SHARES) for epoch in range(7)])
    counts = np.bincount(drawn, minlength=80)
    assert set(counts[:20]) == {21}
    assert set(counts[20:]) == {2, 3}


def test_the_order_of_a_mix_is_a_function_of_seed_and_epoch_alone():
    before = [order_epoch(3, epoch, SHARES).tolist() for epoch in range(5)]
    order_epoch.cache_clear()
    assert [order_epoch(3, epoch, SHARES).tolist() for epoch in (4, 2)] == [before[4], before[2]]
    assert before[0] != before[1] != order_epoch(4, 1, SHARES).tolist()


def test_samples_of_a_mix_are_named_by_their_source():
    names = [sample(Draw(0, place), patches=MIXED, shares=SHARES)[2] for place in range(8)]
    assert sum(name.startswith("real/") for name in names) == 6


@given(start=st.integers(0, 30), pairs=st.integers(4, 20), size=st.integers(1, 4))
def test_resuming_anywhere_gives_the_batches_that_are_left(start, pairs, size):
    whole = list(batches(pairs, size, 3, 0))
    assert list(batches(pairs, size, 3, start)) == whole[start:]


def test_patches_of_one_image_are_one_pair():
    class Rows:
        rows = [PatchRow("a", "1", level, 0, left, 0, 1) for level in (5, 7) for left in (0, 8, 16)]

    assert group_by_pair(Rows()) == [[0, 1, 2], [3, 4, 5]]


def test_degraded_and_clean_are_changed_alike():
    class Twins(RandomPatches):
        def read(self, number, top, left, size):
            clean = super().read(number, top, left, size)[1]
            return clean, clean

    patches = Twins()
    for place in range(12):
        degraded, clean, _ = make_sample(
            patches, group_by_pair(patches), Draw(0, place), **SETTINGS
        )
        assert (degraded == clean).all()
        assert degraded.dtype == np.float32 and 0 <= degraded.min() <= degraded.max() <= 1


def test_all_turns_flips_and_places_occur():
    seen = {sample(Draw(epoch, 0))[2] for epoch in range(60)}
    assert len(seen) > 50


@pytest.mark.parametrize("turns", range(4))
def test_turning_is_exact(turns):
    image = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    assert (turn(turn(image, turns, flip=False), -turns, flip=False) == image).all()
    assert (turn(image, 0, flip=True) == image[:, ::-1]).all()


def test_saturation_moves_colours_from_grey():
    image = to_float(np.array([[[200, 100, 50]]], np.uint8))
    assert change_saturation(image, 1.0) == pytest.approx(image, abs=1e-6)
    assert np.ptp(change_saturation(image, 0.0)) == pytest.approx(0, abs=1e-6)
    assert np.ptp(change_saturation(image, 1.2)) == pytest.approx(1.2 * np.ptp(image), rel=1e-5)
    assert change_saturation(np.ones((1, 1, 3), np.float32), 1.2).max() <= 1


def test_softness_is_for_both_and_grain_for_the_input_alone():
    plain = sample(Draw(0, 1))
    soft = sample(Draw(0, 1), softness=(0.9, 0.9))
    for before, after in zip(plain[:2], soft[:2], strict=True):
        expected = gaussian_filter(before, (0.9, 0.9, 0), mode="mirror", truncate=4)
        np.testing.assert_allclose(after, expected, atol=2e-3)
    grainy = sample(Draw(0, 1), grain=(10, 10))
    assert (grainy[1] == plain[1]).all()
    assert 255 * (grainy[0] - plain[0]).std() == pytest.approx(10, rel=0.1)
    assert (sample(Draw(0, 1), grain=(10, 10))[0] == grainy[0]).all()
