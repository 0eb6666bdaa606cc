from dataclasses import dataclass

import numpy as np
import pytest
import torch

from idemnet.errors import BadInputError
from idemnet.evaluation.measure import add_noise, measure, show
from idemnet.evaluation.protocols import PROTOCOLS
from idemnet.parameters.evaluate import EvaluateParameters
from idemnet.steps.data import Pair


@dataclass(frozen=True)
class Plain:
    """An image of one grey."""

    value: int
    name: str = "plain.png"

    def __call__(self):
        return np.full((16, 20, 3), self.value, np.uint8)

    def size(self):
        return 16, 20


PAIR = Pair("test", "s", "000001", 7, 16, 20, degraded=Plain(100), clean=Plain(120))


def grey_levels(step, iterations=2):
    """A network that adds the same to every pixel in every iteration."""

    def restore(image):
        return torch.cat([image + number * step / 255 for number in range(1, iterations + 1)])

    return restore


def psnr(error):
    return 20 * np.log10(255 / error)


FOUR_LEVELS = grey_levels(4)


def measured(restore=FOUR_LEVELS, detailed=True, **parameters):
    settings = EvaluateParameters(protocol="gopro", **parameters)
    return measure(PAIR, restore, PROTOCOLS["gopro"], settings, "cpu", detailed=detailed)


def test_scores_stand_beside_what_was_scored():
    row = measured(detailed=False)
    assert (row["sequence"], row["frame"], row["level"]) == ("s", "000001", 7)
    assert row["input"]["psnr"] == pytest.approx(psnr(20))
    assert row["restored"]["psnr"] == pytest.approx(psnr(12))
    assert row["restored"].keys() == {"psnr", "ssim", "ssim_matlab"}
    assert row.keys() == {"sequence", "frame", "level", "input", "restored"}


def test_what_cannot_be_scored_is_named():
    settings = EvaluateParameters(protocol="realblur")
    with pytest.raises(BadInputError, match=r"^s/000001/7: cannot be aligned"):
        measure(PAIR, FOUR_LEVELS, PROTOCOLS["realblur"], settings, "cpu", detailed=False)


def test_the_repeat_curve_has_every_pass():
    repeat = measured(passes=4)["repeat"]
    assert repeat["psnr"] == pytest.approx([psnr(12), psnr(4), psnr(4), psnr(12)], rel=1e-6)
    assert len(repeat["ssim"]) == 4


def test_iterations_tell_how_much_each_and_all_changed():
    iterations = measured()["iterations"]
    assert iterations["first"]["every"] == pytest.approx([4, 4], rel=1e-4)
    assert iterations["first"]["sum"] == pytest.approx([4, 8], rel=1e-4)
    assert iterations["first"]["psnr"] == pytest.approx([psnr(16), psnr(12)], rel=1e-6)
    assert iterations["second"]["sum"] == pytest.approx([4, 8], rel=1e-4)
    assert iterations["second"]["psnr"] == pytest.approx([psnr(8), psnr(4)], rel=1e-6)


def test_a_chain_of_files_rounds_between_passes_and_a_chain_of_floats_does_not():
    creeping = grey_levels(0.4, iterations=1)
    floats = measured(creeping, passes=6, chain="float")["repeat"]["psnr"]
    files = measured(creeping, passes=6, chain="uint8")["repeat"]["psnr"]
    assert floats[-1] == pytest.approx(psnr(18))  # 2.4 grey levels, rounded
    assert files[-1] == pytest.approx(psnr(20))  # 0.4, rounded away each time


def test_noise_is_the_same_for_the_same_image_and_no_other():
    image = torch.full((1, 3, 200, 200), 0.5)
    noisy = add_noise(image, 10, "a")
    assert torch.equal(noisy, add_noise(image, 10, "a"))
    assert not torch.equal(noisy, add_noise(image, 10, "b"))
    assert 255 * (noisy - image).std() == pytest.approx(10, rel=0.02)
    assert add_noise(torch.ones(1, 3, 50, 50), 20, "a").max() == 1


def test_noise_of_nothing_changes_nothing():
    row = measured(noise=(0, 20))
    for when in ("input", "restored"):
        plain = {name: row[when][name] for name in ("psnr", "ssim")}
        assert row["noise"]["0"][when] == plain
    assert row["noise"]["20"]["input"]["ssim"] < row["input"]["ssim"]


def test_samples_show_each_iteration_and_the_last_pass():
    pictures = show(PAIR, grey_levels(4), EvaluateParameters(protocol="gopro"), "cpu")
    shown = {name: int(picture[0, 0, 0]) for name, picture in pictures.items()}
    assert shown == {
        "degraded": 100, "clean": 120, "iteration_1": 104, "restored": 108, "pass_10": 180,
    }  # fmt: skip
