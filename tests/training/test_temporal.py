"""MT-RNN's supervision: each iteration is asked for the next smaller level of blur."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from idemnet.errors import BadInputError
from idemnet.parameters.train import TrainParameters
from idemnet.steps.data import PatchRow
from idemnet.training.launch import launch
from idemnet.training.loop import Objective
from idemnet.training.loss import temporal_loss
from idemnet.training.order import Draw, group_by_pair, less_blurred, make_sample

from .tiny import SIZE, RandomPatches, make_job


@dataclass(frozen=True)
class Levels(RandomPatches):
    """Four places, each at all levels; a degraded patch is as bright as its level."""

    @property
    def rows(self) -> list[PatchRow]:
        places = [("a", 0), ("a", 8), ("b", 0), ("b", 8)]
        return [
            PatchRow(sequence, "1", level, 0, left, 0, 1)
            for level in (7, 5, 9)
            for sequence, left in places
        ]

    def read(self, number, top, left, size):
        level = self.rows[number].level
        return np.full((size, size, 3), level, np.uint8), np.full((size, size, 3), 1, np.uint8)


def asked_for(level: int, iterations: int) -> list[int]:
    """What the iterations are asked for, from a patch of this level."""
    patches = Levels()
    found = set()
    pairs = group_by_pair(patches)
    for place in range(len(pairs)):
        degraded, clean, _ = make_sample(
            patches, pairs, Draw(0, place), seed=3, patch_size=SIZE, crop=16,
            saturation=(1.0, 1.0), ladders=less_blurred(patches), iterations=iterations,
        )  # fmt: skip
        if round(255 * degraded.mean()) == level:
            assert clean.shape == (iterations, 16, 16, 3)
            found.add(tuple(round(255 * float(step.mean())) for step in clean))
    [steps] = found
    return list(steps)


def test_the_ladder_of_a_patch_is_of_its_own_place():
    patches = Levels()
    for number, ladder in enumerate(less_blurred(patches)):
        row = patches.rows[number]
        steps = [patches.rows[other] for other in ladder]
        assert all((step.sequence, step.left) == (row.sequence, row.left) for step in steps)
        assert [step.level for step in steps] == [n for n in (9, 7, 5) if n < row.level]


@pytest.mark.parametrize(
    ("level", "iterations", "steps"),
    [
        (9, 3, [7, 5, 1]),
        (9, 5, [7, 5, 1, 1, 1]),  # where the ladder ends, the clean image
        (9, 2, [7, 1]),  # and the last iteration in any case
        (7, 3, [5, 1, 1]),
        (5, 3, [1, 1, 1]),
    ],
)
def test_each_iteration_is_asked_for_the_next_smaller_level(level, iterations, steps):
    assert asked_for(level, iterations) == steps


def test_all_steps_are_changed_alike():
    class Twins(Levels):
        def read(self, number, top, left, size):
            clean = RandomPatches.read(self, 0, top, left, size)[1]
            return clean, clean

    patches = Twins()
    degraded, clean, _ = make_sample(
        patches, group_by_pair(patches), Draw(1, 2), seed=3, patch_size=SIZE, crop=16,
        saturation=(0.8, 1.2), ladders=less_blurred(patches), iterations=3,
    )  # fmt: skip
    assert all((step == degraded).all() for step in clean)


def test_the_loss_sums_the_iterations_distances():
    images = [torch.full((2, 3, 4, 4), value) for value in (0.5, 0.7)]
    targets = torch.stack([torch.full((2, 3, 4, 4), value) for value in (0.4, 0.9)], 1)
    assert temporal_loss(images, targets).item() == pytest.approx(0.3)
    with pytest.raises(ValueError, match="zip"):
        temporal_loss(images[:1], targets)


class Steps(torch.nn.Module):
    """Two iterations, of +0.1 each."""

    def iterate(self, image):
        return [image + 0.1, image + 0.2]

    def forward(self, image):
        return self.iterate(image)[-1]


def test_iterations_of_the_first_pass_join_the_objective():
    settings = TrainParameters(temporal_supervision=True, idempotence_weight=0.5)
    degraded = torch.full((1, 3, 4, 4), 0.3)
    targets = torch.stack([torch.full((1, 3, 4, 4), value) for value in (0.7, 1.0)], 1)
    losses = Objective(Steps(), settings)(degraded, targets, 2)
    # iterations 0.4 and 0.5, second pass 0.7
    assert {name: round(value.item(), 6) for name, value in losses.items()} == {
        "sharp_1": 0.5, "sharp_2": 0.3, "idempotent": 0.2, "residual": 0.2, "temporal": 0.3,
        "total": 0.5 + 0.3 + 0.5 * 0.2 + 0.3,
    }  # fmt: skip


@pytest.mark.parametrize("workers", [0, 1])
def test_a_training_with_it_runs_and_records_it(tmp_path, workers):
    job = make_job(
        tmp_path, Levels(), model="mtrnn", temporal_supervision=True, workers=workers, epochs=1
    )
    job.check()
    launch(job)
    final = job.checkpoints.load(job.fingerprint)
    assert final["step"] == 1 and final["history"][0]["temporal"] > 0


def test_data_of_one_level_is_rejected(tmp_path):
    with pytest.raises(BadInputError, match="needs several levels of blur"):
        make_job(tmp_path, model="mtrnn", temporal_supervision=True).check()


@pytest.mark.parametrize(
    "settings",
    [{"model": "dmphn"}, {"model": "mtrnn", "network": {"mtrnn": {"iterations": 1}}}],
)
def test_a_model_without_iterations_is_rejected(settings):
    with pytest.raises(ValidationError, match="needs a model of several iterations"):
        TrainParameters.model_validate({"temporal_supervision": True, **settings})
