"""Why the constraint costs PSNR at this size: what networks do to pictures that are sharp already.

Run it where `kedro run --pipeline=study_weight` was run, with as many seeds:

    python docs/make_why.py

Each network of the study restores blurred test images, and the sharp ones they belong to; the mean
changes, of 255, go to docs/results/weight/sharp.csv, from where docs/make_results.py takes them.
"""

import csv
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch
from kedro.framework.session import KedroSession
from kedro.framework.startup import bootstrap_project

from idemnet.evaluation.job import spread
from idemnet.models.device import to_tensor
from idemnet.models.network import Network
from idemnet.parameters import TrainParameters
from idemnet.recipes import Image
from idemnet.studies import StudyParameters
from idemnet.training.job import TrainingJob
from idemnet.training.result import describe

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "data/08_reporting/studies/weight/results.json"
TABLE = ROOT / "docs/results/weight/sharp.csv"
COLUMNS = ("network", "seeds", "images", "change of blurred", "change of sharp")
TASK, STUDY = "deblur", "weight"


@torch.inference_mode()
def change(model: torch.nn.Module, image: Image) -> float:
    """Give by how much a restoration changes an image, of 255."""
    given = to_tensor([image], "cpu")
    return 255 * float((model(given) - given).abs().mean())


def main() -> None:
    bootstrap_project(ROOT)
    with KedroSession.create(project_path=ROOT) as session:
        context = session.load_context()
        stores = [context.catalog.load(f"{TASK}.{one}") for one in ("patches", "checkpoints")]
        pairs = context.catalog.load(f"{TASK}.pairs").pairs
        tracker = context.catalog.load(f"{TASK}.tracker")
    study = StudyParameters.model_validate(context.params["study"])
    base = TrainParameters.model_validate(context.params[TASK]["train"])
    test = [pair for pair in pairs if pair.split == "test"]
    shown = [test[at] for at in spread(len(test), study.evaluate["detailed_images"])]
    changes = defaultdict(list)
    for outcome in json.loads(RESULTS.read_bytes())["outcomes"]:
        settings = study.training(STUDY, outcome["cell"], outcome["seed"], base)
        job = TrainingJob(TASK, settings, *stores, tracker)
        model = Network.of(describe(job, stores[1].load(job.fingerprint))).build("cpu")
        changes[outcome["label"]].append(
            [(change(model, pair.degraded()), change(model, pair.clean())) for pair in shown]
        )
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(COLUMNS)
        for label, seeds in changes.items():
            means = [f"{one:.3f}" for one in np.mean(seeds, axis=(0, 1))]
            rows.writerow([label, len(seeds), len(shown), *means])


if __name__ == "__main__":
    main()
