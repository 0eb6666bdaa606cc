"""Metrics of an evaluation: means over images, each with its number of images."""

from collections.abc import Sequence
from typing import Any

from idemnet.evaluation.protocols import mean
from idemnet.steps.data import Evaluation
from idemnet.steps.metrics import (
    BeforeAndAfter,
    MeanCurve,
    MeanPasses,
    MeanRestoration,
    MeanScores,
    Metrics,
    Model,
)
from idemnet.steps.mix import source_of

DECIMALS = 4
"""Digits that tables show. Further digits depend on the CPU and on the order of additions, and
would make metrics.json differ between runs."""


def summarise(evaluation: Evaluation) -> Metrics:
    """Return the content of metrics.json and timing.json."""
    about, rows = evaluation.about, evaluation.rows
    repeats = [row.repeat for row in rows if row.repeat]
    passes = [row.iterations for row in rows if row.iterations]
    noises = [row.noise for row in rows if row.noise is not None]
    return Metrics(
        task=about["task"],
        dataset=about["dataset"],
        protocol=about["protocol"],
        images=len(rows),
        device=about["device"],
        **dict(_mean_restoration(rows)),
        levels={
            str(level): _mean_restoration([row for row in rows if row.level == level])
            for level in sorted({row.level for row in rows})
        },
        sources={
            name: _mean_restoration([row for row in rows if source_of(row.sequence) == name])
            for name in about.get("sources", ())
        },
        repeat=MeanCurve(chain=about["chain"], images=len(repeats), **_mean(repeats)),
        iterations=MeanPasses(images=len(passes), **_mean(passes)),
        noise={sigma: _mean_restoration([noise[sigma] for noise in noises]) for sigma in noises[0]},
        cost=evaluation.cost,
    )


def _mean_restoration(scored: Sequence[BeforeAndAfter]) -> MeanRestoration:
    return MeanRestoration(
        input=MeanScores(images=len(scored), **_mean([one.input for one in scored])),
        restored=MeanScores(images=len(scored), **_mean([one.restored for one in scored])),
    )


def _mean(models: Sequence[Model]) -> dict[str, Any]:
    """Average each field; for PSNR the mean of the dB, never the dB of a mean error."""
    averaged: dict[str, Any] = _average([one.model_dump() for one in models])
    return averaged


def _average(values: Sequence[Any]) -> Any:
    if isinstance(values[0], dict):
        return {key: _average([one[key] for one in values]) for key in values[0]}
    if isinstance(values[0], list):
        return [_average(at) for at in zip(*values, strict=True)]
    return round(mean(values), DECIMALS)
