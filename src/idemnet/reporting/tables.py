"""Tables of scores: as text for the page, and as CSV for other programs."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from idemnet.reporting.formatting import count, dataset_title, signed
from idemnet.steps.metrics import ImageScores, MeanCurve, MeanRestoration, Metrics, Scores
from idemnet.tasks.task import Words

ARROW = "\N{RIGHTWARDS ARROW}"
BEFORE_AND_AFTER = ("PSNR before", "after", "gain, dB", "SSIM before", "after", "images")


@dataclass(frozen=True)
class Table:
    """A table of text; the first column labels the rows."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""


def source_of(metrics: Metrics, images: int) -> str:
    """Describe the data, protocol and device of scores."""
    return (
        f"{dataset_title(metrics.dataset)}, protocol {metrics.protocol}, {metrics.device}, "
        f"{count(images, 'image')}"
    )


def levels_table(metrics: Metrics) -> Table | None:
    """Return the scores of each level, if the data set has levels."""
    levels = {level: scores for level, scores in metrics.levels.items() if level != "0"}
    if not levels:
        return None
    return Table(
        ("level", *BEFORE_AND_AFTER),
        tuple((level, *_before_and_after(scores)) for level, scores in levels.items()),
        _measured(metrics, metrics.images),
    )


def sources_table(metrics: Metrics) -> Table | None:
    """Show the scores of each source, where the data is mixed."""
    if not metrics.sources:
        return None
    return Table(
        ("data set", *BEFORE_AND_AFTER),
        tuple(
            (dataset_title(name), *_before_and_after(scores))
            for name, scores in metrics.sources.items()
        ),
        _measured(metrics, metrics.images),
    )


def noise_table(metrics: Metrics) -> Table | None:
    if not metrics.noise:
        return None
    return Table(
        ("noise", *BEFORE_AND_AFTER),
        tuple((sigma, *_before_and_after(scores)) for sigma, scores in metrics.noise.items()),
        _measured(metrics, metrics.repeat.images),
    )


def repeat_table(metrics: Metrics, curves: Mapping[str, MeanCurve]) -> Table:
    """Return the scores after each pass, with two columns for each curve."""
    head = [f"{label}: {one}" for label in curves for one in ("PSNR, dB", "SSIM")]
    if len(curves) == 1:
        head = ["PSNR, dB", "SSIM"]
    length = max(len(curve.psnr) for curve in curves.values())
    rows = [
        (str(at + 1), *(cell for curve in curves.values() for cell in _scores_at(curve, at)))
        for at in range(length)
    ]
    return Table(("pass", *head), tuple(rows), _measured(metrics, metrics.repeat.images))


def iterations_table(metrics: Metrics) -> Table:
    first, second = metrics.iterations.first, metrics.iterations.second
    columns = [column for one in (first, second) for column in (one.psnr, one.every, one.sum)]
    rows = [
        (str(number), *(f"{value:.3f}" for value in values))
        for number, values in enumerate(zip(*columns, strict=True), 1)
    ]
    head = ("iteration", "PSNR, dB", "every", "sum", "second pass: PSNR, dB", "every", "sum")
    return Table(head, tuple(rows), _measured(metrics, metrics.iterations.images))


def cost_table(metrics: Metrics) -> Table:
    cost = metrics.cost
    seconds = cost.seconds
    rows = [
        ("parameters", f"{cost.parameters:,}"),
        *((f"MACs at {size}", f"{macs / 1e9:,.1f} G") for size, macs in cost.macs.items()),
        (
            f"seconds at {seconds.width}x{seconds.height}",
            f"{seconds.median:.3f} (95 % below {seconds.p95:.3f}; {seconds.runs} runs)",
        ),
        ("memory in addition to the weights", f"{cost.peak_memory_mb:,.0f} MB"),
        ("device", f"{cost.device}: {cost.device_name}"),
    ]
    return Table(("what", "a restoration"), tuple(rows), "Measured here, device synchronised")


def scores_table(metrics: Metrics, words: Words) -> Table:
    """Return the mean scores in the layout of the paper's tables."""
    measure = "ssim" if metrics.restored.ssim_matlab is None else "ssim_matlab"
    cost = metrics.cost

    def score(scores: Scores) -> tuple[str, str]:
        return f"{scores.psnr:.2f}", f"{scores.similarity:.4f}"

    size = f"{cost.seconds.width}x{cost.seconds.height}"
    return Table(
        ("image", "PSNR, dB", measure, "parameters", f"seconds at {size}"),
        (
            (f"{words.degraded} (input)", *score(metrics.input), "", ""),
            (
                "restored",
                *score(metrics.restored),
                f"{cost.parameters / 1e6:.2f} M",
                f"{cost.seconds.median:.3f}",
            ),
        ),
        _measured(metrics, metrics.images),
    )


def extremes_table(rows: Sequence[ImageScores], wanted: int = 5) -> Table:
    """Return the images that gained least and most, worst first."""
    ordered = sorted(rows, key=lambda row: row.gain)
    shown = ordered if len(ordered) <= 2 * wanted else ordered[:wanted] + ordered[-wanted:]
    return Table(
        ("image", "level", "PSNR before", "after", "gain, dB"),
        tuple(
            (
                row.name,
                str(row.level or "\N{EN DASH}"),
                f"{row.input.psnr:.2f}",
                f"{row.restored.psnr:.2f}",
                signed(row.gain, 3),
            )
            for row in shown
        ),
        "Every image" if len(shown) == len(rows) else f"The {wanted} worst and the {wanted} best",
    )


def images_csv(rows: Sequence[ImageScores]) -> bytes:
    """Return CSV with a line for each image: scores before and after, and the gain."""
    measures = list(rows[0].input.model_dump())
    head = [f"{when}_{measure}" for when in ("input", "restored") for measure in measures]
    return to_csv(
        ("sequence", "frame", "level", *head, "gain"),
        (
            (
                *(row.sequence, row.frame, row.level),
                *row.input.model_dump().values(),
                *row.restored.model_dump().values(),
                row.gain,
            )
            for row in rows
        ),
    )


def repeat_csv(metrics: Metrics) -> bytes:
    curve = metrics.repeat
    rows = zip(curve.psnr, curve.ssim, strict=True)
    return to_csv(("pass", "psnr", "ssim"), ((number, *row) for number, row in enumerate(rows, 1)))


def training_csv(history: Sequence[Mapping[str, float]]) -> bytes:
    """Return CSV with a line for each epoch; missing values are empty."""
    names = list(dict.fromkeys(["epoch", *(name for epoch in history for name in epoch)]))
    return to_csv(names, ([epoch.get(name, "") for name in names] for epoch in history))


def to_csv(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> bytes:
    """Return a table as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue().encode()


def _measured(metrics: Metrics, images: int) -> str:
    return f"Measured here: {source_of(metrics, images)}"


def _before_and_after(scores: MeanRestoration) -> tuple[str, ...]:
    before, after = scores.input, scores.restored
    return (
        f"{before.psnr:.2f}",
        f"{after.psnr:.2f}",
        signed(scores.gain, 3),
        f"{before.ssim:.4f}",
        f"{after.ssim:.4f}",
        f"{before.images:,}",
    )


def _scores_at(curve: MeanCurve, at: int) -> tuple[str, str]:
    if at >= len(curve.psnr):
        return "", ""
    return f"{curve.psnr[at]:.3f}", f"{curve.ssim[at]:.4f}"
