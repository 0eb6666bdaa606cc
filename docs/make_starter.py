"""Ship what `kedro run --env=starter --pipeline=train_TASK` has trained.

    python docs/make_starter.py deblur ../shared/real

Copies weights and card to src/idemnet/starter, adds to the card how they came about and how good
they are, on the test scenes and on real pictures that nothing was trained on, and writes the tables
of docs/starter.md from the cards, and docs/starter_TASK.csv: how validation went.
"""

import csv
import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

import numpy as np

from idemnet import Restorer
from idemnet.datasets.weights import read_weights
from idemnet.packing import CARD, HISTORY, WEIGHTS, serialise

DOCS = Path(__file__).parent
ROOT = DOCS.parent
STARTER = ROOT / "src/idemnet/starter"
BEGIN, END = "<!-- scores: python docs/make_starter.py -->", "<!-- end of scores -->"
SCORES = ("psnr_input", "psnr", "psnr_3")
sys.path.append(str(ROOT / "benchmarks"))

from real_pictures import PASSES, score  # noqa: E402


def main(task: str, real: Path) -> None:
    source = ROOT / "data/06_models" / task / "starter"
    tensors, card = read_weights(source / WEIGHTS)
    metrics = json.loads((ROOT / "data/08_reporting" / task / "starter/metrics.json").read_bytes())
    protocol, rows = score(Restorer.load(source), real)
    mean = [float(one) for one in np.mean(list(rows.values()), axis=0)]
    card |= {
        "dataset": "starter",
        "command": f"kedro run --env=starter --pipeline=train_{task}",
        "hours": _hours(card["fingerprint"]),
        "scores": {
            "scenes": _scenes(metrics),
            "real": {"protocol": protocol, "passes": PASSES, "pictures": rows, "mean": mean},
        },
    }
    place = STARTER / task
    place.mkdir(parents=True, exist_ok=True)
    (place / WEIGHTS).write_bytes(serialise(tensors))
    (place / CARD).write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")
    _keep_history(task, card["training"], json.loads((source / HISTORY).read_bytes()))
    page = DOCS / "starter.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    page.write_text(f"{before}{scores_in(STARTER)}{rest.partition(END)[2]}", encoding="utf-8")


def _scenes(metrics: dict[str, Any]) -> dict[str, Any]:
    repeated = metrics["repeat"]["psnr"]
    return {
        "protocol": metrics["protocol"],
        "images": metrics["images"],
        "psnr_input": metrics["input"]["psnr"],
        "psnr": metrics["restored"]["psnr"],
        "lost_in_ten_passes": repeated[0] - repeated[-1],
    }


def _keep_history(task: str, training: dict[str, Any], history: list[dict[str, float]]) -> None:
    """Write what validation said after each epoch, in which further passes joined at some point."""
    with (DOCS / f"starter_{task}.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["epoch", "passes", *SCORES])
        for epoch in history:
            passes = 1 if epoch["epoch"] < training["warmup_epochs"] else training["times"]
            scores = [f"{epoch[f'validation/{name}']:.3f}" for name in SCORES]
            rows.writerow([int(epoch["epoch"]) + 1, passes, *scores])


def _hours(fingerprint: str) -> float:
    """Give the time from the training's first step to its last, breaks included."""
    with sqlite3.connect(ROOT / "mlflow.db") as store:
        [[begin, end]] = store.execute(
            "select start_time, end_time from runs join tags using (run_uuid) "
            "where key = 'fingerprint' and value = ?",
            [fingerprint],
        )
    return round((end - begin) / 3.6e6, 2)


def scores_in(folder: Path) -> str:
    """Give the tables of docs/starter.md, from the cards that are shipped."""
    lines = [BEGIN]
    for place in sorted(folder.glob(f"*/{CARD}")):
        card = json.loads(place.read_bytes())
        scenes, real = card["scores"]["scenes"], card["scores"]["real"]
        lines += [
            f"### {card['task']}",
            "",
            f"{card['parameters']:,} parameters, seed {card['training']['seed']}, "
            f"{card['hours']:.1f} hours from first to last step. Test scenes ({scenes['images']} "
            f"images, protocol {scenes['protocol']}): {scenes['psnr_input']:.2f} -> "
            f"{scenes['psnr']:.2f} dB, of which ten passes lose "
            f"{scenes['lost_in_ten_passes']:.2f} dB. Real pictures (protocol {real['protocol']}, "
            "passes chained in 8 bits), PSNR in dB:",
            "",
            f"| picture | as it came | {' | '.join(f'pass {one}' for one in real['passes'])} |",
            "|---" * (2 + len(real["passes"])) + "|",
        ]
        for name, row in {**real["pictures"], "mean": real["mean"]}.items():
            lines.append(f"| {name} | {' | '.join(f'{one:.2f}' for one in row)} |")
        lines.append("")
    return "\n".join([*lines, END])


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
