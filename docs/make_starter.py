"""Ship what `kedro run --env=starter --pipeline=train_TASK` has trained and evaluated.

    python docs/make_starter.py deblur ../shared/real

Copies the weights, as float16, and their card to src/idemnet/starter. Adds to the card how they
were trained and their scores: on the data set's test images, and on real pictures that nothing was
trained on. Writes the tables of docs/starter.md from the cards, and the learning curve as
docs/starter_TASK.csv and .png. Weights that were trained from the ones that they replace continue
their curve and their hours.
"""

import csv
import hashlib
import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

import numpy as np

from idemnet import Restorer
from idemnet.inference.network import with_tile_overlap
from idemnet.inference.weights import (
    CARD,
    HISTORY,
    WEIGHTS,
    TrainedModel,
    read_weights,
    serialise,
)
from idemnet.steps.metrics import Metrics

DOCS = Path(__file__).parent
ROOT = DOCS.parent
STARTER = ROOT / "src/idemnet/starter"
BEGIN, END = "<!-- scores: python docs/make_starter.py -->", "<!-- end of scores -->"
SCORES = ("psnr_input", "psnr", "psnr_3")
COLUMNS = ("updates", "hours", "passes", *SCORES)
CREDITS = {
    "gopro_third": {
        "data": "702 of GOPRO_Large's 2,103 training pairs, three sequences held out; tested on "
        "186 of its 1,111 test pairs",
        "licence": "CC BY 4.0",
        "credit": 'S. Nah, T. H. Kim, K. M. Lee, "Deep Multi-scale Convolutional Neural Network '
        'for Dynamic Scene Deblurring", CVPR 2017',
    },
    "gopro_third + scenes": {
        "data": "702 of GOPRO_Large's 2,103 training pairs, three sequences held out, and rendered "
        "scenes of the photographs that docs/starter.md names, 3 to 1; tested on 186 of "
        "GOPRO_Large's 1,111 test pairs",
        "licence": "CC BY 4.0 (GOPRO_Large)",
        "credit": 'S. Nah, T. H. Kim, K. M. Lee, "Deep Multi-scale Convolutional Neural Network '
        'for Dynamic Scene Deblurring", CVPR 2017',
    },
    "starter": {"data": "rendered scenes of the photographs that docs/starter.md names"},
}
sys.path.append(str(ROOT / "benchmarks"))

from real_pictures import PASSES, score  # noqa: E402


def main(task: str, real: Path) -> None:
    source, place = ROOT / "data/06_models" / task / "starter", STARTER / task
    tensors, card = read_weights(source / WEIGHTS)
    report = ROOT / "data/08_reporting" / task / "starter"
    metrics = Metrics.from_files(lambda name: (report / name).read_bytes())
    dataset = " + ".join(card.get("sources", [metrics.dataset]))  # what it was trained on
    history = json.loads((source / HISTORY).read_bytes())
    before = json.loads((place / CARD).read_bytes()) if (place / CARD).is_file() else {}
    continued = card["training"]["initialize_from"] == "starter"
    commit, hours = _record(card["fingerprint"])
    curve = _curve(card["training"], history, hours, _read_curve(task) if continued else [])
    halved = {name: tensor.half() for name, tensor in tensors.items()}
    weights = serialise(halved)
    card = dict(with_tile_overlap(TrainedModel(halved, card, [])).card)  # of the rounded weights
    card |= {
        "sha256": hashlib.sha256(weights).hexdigest(),
        "dataset": dataset,
        **CREDITS[dataset],
        "command": f"kedro run --env=starter --pipeline=train_{task}",
        "commit": commit,
        "updates": curve[-1]["updates"],
        "hours": curve[-1]["hours"],
        "continues": before["sha256"] if continued else None,
    }
    place.mkdir(parents=True, exist_ok=True)
    (place / WEIGHTS).write_bytes(weights)
    _write_card(place, card)
    scores = score(Restorer.load(place), real)
    card["scores"] = {
        "test": _test_scores(metrics),
        "real": {
            "protocol": scores.protocol, "passes": PASSES, "pictures": scores.psnr,
            "mean": scores.mean,
            "second_change": float(np.mean(list(scores.second_change.values()))),
        },
    }  # fmt: skip
    _write_card(place, card)
    _write_curve(task, curve)
    page = DOCS / "starter.md"
    start, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    page.write_text(f"{start}{scores_in(STARTER)}{rest.partition(END)[2]}", encoding="utf-8")


def _write_card(place: Path, card: dict[str, Any]) -> None:
    (place / CARD).write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")


def _test_scores(metrics: Metrics) -> dict[str, Any]:
    return {
        "protocol": metrics.protocol,
        "images": metrics.images,
        "psnr_input": metrics.input.psnr,
        "psnr": metrics.restored.psnr,
        "chain": metrics.repeat.chain,
        "lost_in_ten_passes": metrics.repeat.loss,
        "second_change": metrics.iterations.second.change / metrics.iterations.first.change,
        "detailed_images": metrics.repeat.images,
    }


def _record(fingerprint: str) -> tuple[str, dict[int, float]]:
    """Return the commit of a training and the hours it had taken at the end of each epoch."""
    runs = (
        "from runs join tags using (run_uuid) join {} using (run_uuid) "
        "where tags.key = 'fingerprint' and tags.value = ? and {}.key = ?"
    )
    with sqlite3.connect(ROOT / "mlflow.db") as store:
        [[commit]] = store.execute(
            f"select more.value {runs.format('tags as more', 'more')}",
            [fingerprint, "mlflow.source.git.commit"],
        )
        passed = store.execute(
            f"select step, metrics.timestamp - start_time {runs.format('metrics', 'metrics')}",
            [fingerprint, "epoch/total"],
        )
        return commit, {step: milliseconds / 3.6e6 for step, milliseconds in passed}


def _curve(
    training: dict[str, Any],
    history: list[dict[str, float]],
    hours: dict[int, float],
    earlier: list[dict[str, float]],
) -> list[dict[str, float]]:
    """Return validation's scores by updates and hours, after those of earlier weights."""
    per_epoch = min(hours)
    begin = earlier[-1] if earlier else {"updates": 0, "hours": 0.0}
    rows = list(earlier)
    for epoch in history:
        if "validation/psnr" in epoch:
            updates = (int(epoch["epoch"]) + 1) * per_epoch
            joined = epoch["epoch"] >= training["single_pass_epochs"]
            rows.append(
                {
                    "updates": begin["updates"] + updates,
                    "hours": round(begin["hours"] + hours[updates], 2),
                    "passes": training["passes"] if joined else 1,
                    **{name: round(epoch[f"validation/{name}"], 3) for name in SCORES},
                }
            )
    return rows


def _read_curve(task: str) -> list[dict[str, float]]:
    with (DOCS / f"starter_{task}.csv").open(encoding="utf-8") as file:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]


def _write_curve(task: str, curve: list[dict[str, float]]) -> None:
    from matplotlib.figure import Figure  # noqa: PLC0415

    with (DOCS / f"starter_{task}.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        rows.writeheader()
        rows.writerows(curve)
    figure = Figure(figsize=(7, 3.5), layout="constrained")
    axes = figure.subplots()
    hours = [row["hours"] for row in curve]
    for name, label in (("psnr", "first pass"), ("psnr_3", "third pass")):
        gain = [row[name] - row["psnr_input"] for row in curve]
        axes.plot(hours, gain, marker="o", markersize=3, label=label)
    axes.fill_between(
        hours, 0, 1, where=[row["passes"] > 1 for row in curve],
        transform=axes.get_xaxis_transform(), color="grey", alpha=0.2,
        label="passes trained to agree",
    )  # fmt: skip
    axes.set_xlabel("hours of training (one CPU core, shared with other work)")
    axes.set_ylabel("validation: PSNR above input, dB")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(DOCS / f"starter_{task}.png", dpi=110)


def scores_in(folder: Path) -> str:
    """Return the tables of docs/starter.md, from the cards that are shipped."""
    lines = [BEGIN]
    for place in sorted(folder.glob(f"*/{CARD}")):
        card = json.loads(place.read_bytes())
        lines += [f"### {card['task']}", "", _summary(card), ""]
        real = card["scores"]["real"]
        lines += [
            f"| picture | input | {' | '.join(f'pass {one}' for one in real['passes'])} |",
            "|---" * (2 + len(real["passes"])) + "|",
        ]
        for name, row in {**real["pictures"], "mean": real["mean"]}.items():
            lines.append(f"| {name} | {' | '.join(f'{one:.2f}' for one in row)} |")
        lines.append("")
    return "\n".join([*lines, END])


def _summary(card: dict[str, Any]) -> str:
    # Cards of the first weights call the scores on test images by what these were.
    test, real = card["scores"].get("test") or card["scores"]["scenes"], card["scores"]["real"]
    second = ""
    if "second_change" in test:
        second = f", and the second pass changes {test['second_change']:.1%} of what the first did"
    return (
        f"{card['parameters']:,} parameters, seed {card['training']['seed']}, {card['hours']:.1f} "
        f"hours of training. {test['images']} test images (protocol {test['protocol']}): "
        f"{test['psnr_input']:.2f} -> {test['psnr']:.2f} dB; ten passes lose "
        f"{test['lost_in_ten_passes']:.2f} dB{second}. "
        f"Real pictures (protocol {real['protocol']}, passes chained in 8 bits), PSNR in dB:"
    )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
