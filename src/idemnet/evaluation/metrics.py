"""The figures of an evaluation: means over images, each with the number of images behind it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from idemnet.evaluation.protocols import mean, mean_scores
from idemnet.steps.data import Evaluation

Row = Mapping[str, Any]

DECIMALS = 4
"""As precise as any table shows them. Further digits depend on the CPU and on the order of
additions, and would make metrics.json, which git tracks, differ between machines."""


def summarise(evaluation: Evaluation) -> dict[str, Any]:
    """Return what metrics.json and timing.json hold; the keys do not change."""
    about, rows = evaluation.about, evaluation.rows
    detailed = [row for row in rows if "repeat" in row]
    return {
        "task": about["task"],
        "dataset": about["dataset"],
        "protocol": about["protocol"],
        "images": len(rows),
        "device": about["device"],
        **_before_and_after(rows),
        "levels": {
            str(level): _before_and_after([row for row in rows if row["level"] == level])
            for level in sorted({row["level"] for row in rows})
        },
        "repeat": {
            "chain": about["chain"],
            "images": len(detailed),
            **{
                name: _mean_lists(row["repeat"][name] for row in detailed)
                for name in ("psnr", "ssim")
            },
        },
        "iterations": {
            "images": len(detailed),
            **{
                which: {
                    name: _mean_lists(row["iterations"][which][name] for row in detailed)
                    for name in ("psnr", "every", "sum")
                }
                for which in ("first", "second")
            },
        },
        "noise": {
            sigma: _before_and_after([row["noise"][sigma] for row in detailed])
            for sigma in detailed[0]["noise"]
        },
        "cost": dict(evaluation.cost),
    }


def _before_and_after(rows: Sequence[Row]) -> dict[str, Any]:
    return {
        when: {
            name: round(value, DECIMALS)
            for name, value in mean_scores([row[when] for row in rows]).items()
        }
        | {"images": len(rows)}
        for when in ("input", "restored")
    }


def _mean_lists(lists: Iterable[Sequence[float]]) -> list[float]:
    """Average place by place."""
    return [round(mean(values), DECIMALS) for values in zip(*lists, strict=True)]
