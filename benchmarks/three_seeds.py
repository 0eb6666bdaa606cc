"""The default training with three seeds, with and without the idempotent constraint.

Promises: restored above blurred in mean PSNR with every seed, and over ten passes it loses at most
half of what the same settings lose with `passes: 1, idempotence_weight: 0`. Scores are of all pairs
of the built-in test scenes (RGB, rounded to 8 bits, PSNR of each image, then the mean; passes are
chained in float, not clamped). Trainings are resumed where they were, like all others, and recorded
in MLflow: `mlflow ui` compares them.

Takes six trainings of some minutes each, two at a time on two cores, so `make bench` leaves it out;
run it by itself, where `make run` has prepared the data.
"""

import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from kedro.framework.session import KedroSession
from kedro.framework.startup import bootstrap_project

from idemnet.inference.weights import TrainedModel
from idemnet.models import build_network
from idemnet.parameters.train import TrainParameters
from idemnet.pipelines.train import train
from idemnet.steps.data import Pair
from idemnet.system.device import to_tensor
from idemnet.training.concurrent import train_concurrently
from idemnet.training.job import TrainingJob
from idemnet.training.validation import psnr

ROOT = Path(__file__).parents[1]
SEEDS, PASSES = (0, 1, 2), 10
VARIANTS = {"with": {}, "without": {"passes": 1, "idempotence_weight": 0.0}}


@torch.no_grad()
def score(trained: TrainedModel, pairs: list[Pair]) -> list[float]:
    """Return the mean PSNR of the blurred images and of passes 1 to 10."""
    model = build_network(trained.card["architecture"], trained.card["arguments"]).eval()
    model.load_state_dict(dict(trained.weights))
    scores = []
    for pair in pairs:
        clean = to_tensor([pair.clean()], "cpu")
        image = to_tensor([pair.degraded()], "cpu")
        row = psnr(image, clean)
        for _ in range(PASSES):
            image = model(image)
            row += psnr(image, clean)
        scores.append(row)
    return [float(mean) for mean in np.mean(scores, axis=0)]


def main() -> None:
    bootstrap_project(ROOT)
    with KedroSession.create(ROOT) as session:
        context = session.load_context()  # type: ignore[attr-defined]
        load = context.catalog.load
        settings = context.config_loader["parameters"]["deblur"]["train"]
        stores = cast(Any, context.catalog.get("deblur.weights"))
    patches, pairs = load("deblur.patches"), load("deblur.pairs")
    checkpoints, tracker = stores.checkpoints, stores.tracker
    test = [pair for pair in pairs.pairs if pair.split == "test"]
    trainings = {
        (seed, name): TrainParameters.model_validate(
            {**settings, "seed": seed, "threads": 1, **changes}
        )
        for seed in SEEDS
        for name, changes in VARIANTS.items()
    }
    train_concurrently(
        [
            TrainingJob("deblur", chosen, patches, checkpoints, tracker)
            for chosen in trainings.values()
        ]
    )
    print(f"{len(test)} test pairs; mean PSNR in dB")
    print(
        "| seed | constraint | blurred | restored | gain | third pass | tenth pass | lost in ten |"
    )
    print("|---|---|---|---|---|---|---|---|")
    kept = True
    for seed in SEEDS:
        lost = {}
        for name in VARIANTS:
            result = train(patches, pairs, trainings[seed, name]).run(checkpoints, tracker)
            blurred, *passes = score(result, test)
            lost[name] = passes[0] - passes[-1]
            kept &= passes[0] > blurred
            print(
                f"| {seed} | {name} | {blurred:.2f} | {passes[0]:.2f} | {passes[0] - blurred:+.2f} "
                f"| {passes[2]:.2f} | {passes[-1]:.2f} | {lost[name]:.2f} |",
                flush=True,
            )
        kept &= lost["with"] <= lost["without"] / 2
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    main()
