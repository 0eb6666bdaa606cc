"""The figures as tables of text: for the page, and as CSV for other programs."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from idemnet.reporting.words import count, name_of, signed
from idemnet.tasks.task import Words

ARROW = "\N{RIGHTWARDS ARROW}"
BEFORE_AND_AFTER = ("PSNR before", "after", "gain, dB", "SSIM before", "after", "images")
Metrics = Mapping[str, Any]


@dataclass(frozen=True)
class Table:
    """Text in rows; the first column says what a row is about."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""


def source_of(metrics: Metrics, images: int) -> str:
    """Name what stands behind measured figures."""
    return (
        f"{name_of(metrics['dataset'])}, protocol {metrics['protocol']}, {metrics['device']}, "
        f"{count(images, 'image')}"
    )


def levels_table(metrics: Metrics) -> Table | None:
    """Show the scores of each level, where the data set has any."""
    levels = {level: scores for level, scores in metrics["levels"].items() if level != "0"}
    if not levels:
        return None
    return Table(
        ("level", *BEFORE_AND_AFTER),
        tuple((level, *_before_and_after(scores)) for level, scores in levels.items()),
        _measured(metrics, metrics["images"]),
    )


def noise_table(metrics: Metrics) -> Table | None:
    if not metrics["noise"]:
        return None
    return Table(
        ("noise", *BEFORE_AND_AFTER),
        tuple((sigma, *_before_and_after(scores)) for sigma, scores in metrics["noise"].items()),
        _measured(metrics, metrics["repeat"]["images"]),
    )


def repeat_table(metrics: Metrics, curves: Mapping[str, Metrics]) -> Table:
    """Show the scores after each pass, with a pair of columns for each of the curves."""
    head = [f"{label}: {one}" for label in curves for one in ("PSNR, dB", "SSIM")]
    if len(curves) == 1:
        head = ["PSNR, dB", "SSIM"]
    length = max(len(curve["psnr"]) for curve in curves.values())
    rows = [
        (str(at + 1), *(cell for curve in curves.values() for cell in _scores_at(curve, at)))
        for at in range(length)
    ]
    return Table(("pass", *head), tuple(rows), _measured(metrics, metrics["repeat"]["images"]))


def iterations_table(metrics: Metrics) -> Table:
    first, second = metrics["iterations"]["first"], metrics["iterations"]["second"]
    columns = [one[name] for one in (first, second) for name in ("psnr", "every", "sum")]
    rows = [
        (str(number), *(f"{value:.3f}" for value in values))
        for number, values in enumerate(zip(*columns, strict=True), 1)
    ]
    head = ("iteration", "PSNR, dB", "every", "sum", "second pass: PSNR, dB", "every", "sum")
    return Table(head, tuple(rows), _measured(metrics, metrics["iterations"]["images"]))


def cost_table(metrics: Metrics) -> Table:
    cost = metrics["cost"]
    seconds = cost["seconds"]
    rows = [
        ("parameters", f"{cost['parameters']:,}"),
        *((f"MACs at {size}", f"{macs / 1e9:,.1f} G") for size, macs in cost["macs"].items()),
        (
            f"seconds at {seconds['width']}x{seconds['height']}",
            f"{seconds['median']:.3f} (95 % below {seconds['p95']:.3f}; {seconds['runs']} runs)",
        ),
        ("memory beside the weights", f"{cost['peak_memory_mb']:,.0f} MB"),
        ("device", f"{cost['device']}: {cost['device_name']}"),
    ]
    return Table(("what", "a restoration"), tuple(rows), "Measured here, device synchronised")


def scores_table(metrics: Metrics, words: Words) -> Table:
    """Show the mean scores as the paper's table of scores has them."""
    measure = "ssim_matlab" if "ssim_matlab" in metrics["restored"] else "ssim"
    cost = metrics["cost"]

    def score(when: str) -> tuple[str, str]:
        return f"{metrics[when]['psnr']:.2f}", f"{metrics[when][measure]:.4f}"

    size = "{width}x{height}".format(**cost["seconds"])
    return Table(
        ("image", "PSNR, dB", measure, "parameters", f"seconds at {size}"),
        (
            (f"{words.degraded}, as it came", *score("input"), "", ""),
            (
                "restored",
                *score("restored"),
                f"{cost['parameters'] / 1e6:.2f} M",
                f"{cost['seconds']['median']:.3f}",
            ),
        ),
        _measured(metrics, metrics["images"]),
    )


def extremes_table(rows: Sequence[Mapping[str, Any]], wanted: int = 5) -> Table:
    """Show the images that gained least and most, worst first."""
    ordered = sorted(rows, key=gain)
    shown = ordered if len(ordered) <= 2 * wanted else ordered[:wanted] + ordered[-wanted:]
    return Table(
        ("image", "level", "PSNR before", "after", "gain, dB"),
        tuple(
            (
                f"{row['sequence']}/{row['frame']}",
                str(row["level"] or "\N{EN DASH}"),
                f"{row['input']['psnr']:.2f}",
                f"{row['restored']['psnr']:.2f}",
                signed(gain(row), 3),
            )
            for row in shown
        ),
        "Every image" if len(shown) == len(rows) else f"The {wanted} worst and the {wanted} best",
    )


def gain(row: Mapping[str, Any]) -> float:
    return float(row["restored"]["psnr"] - row["input"]["psnr"])


def images_csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Write a line an image: scores before and after, and the gain."""
    measures = list(rows[0]["input"])
    head = [f"{when}_{measure}" for when in ("input", "restored") for measure in measures]
    return to_csv(
        ("sequence", "frame", "level", *head, "gain"),
        (
            (
                *(row[name] for name in ("sequence", "frame", "level")),
                *(row[when][measure] for when in ("input", "restored") for measure in measures),
                gain(row),
            )
            for row in rows
        ),
    )


def repeat_csv(metrics: Metrics) -> bytes:
    curve = metrics["repeat"]
    rows = zip(curve["psnr"], curve["ssim"], strict=True)
    return to_csv(("pass", "psnr", "ssim"), ((number, *row) for number, row in enumerate(rows, 1)))


def training_csv(history: Sequence[Mapping[str, float]]) -> bytes:
    """Write a line an epoch; what was not measured in it stays empty."""
    names = list(dict.fromkeys(["epoch", *(name for epoch in history for name in epoch)]))
    return to_csv(names, ([epoch.get(name, "") for name in names] for epoch in history))


def to_csv(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> bytes:
    """Write a table for other programs."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue().encode()


def _measured(metrics: Metrics, images: int) -> str:
    return f"Measured here: {source_of(metrics, images)}"


def _before_and_after(scores: Metrics) -> tuple[str, ...]:
    before, after = scores["input"], scores["restored"]
    return (
        f"{before['psnr']:.2f}",
        f"{after['psnr']:.2f}",
        signed(after["psnr"] - before["psnr"], 3),
        f"{before['ssim']:.4f}",
        f"{after['ssim']:.4f}",
        f"{before['images']:,}",
    )


def _scores_at(curve: Metrics, at: int) -> tuple[str, str]:
    if at >= len(curve["psnr"]):
        return "", ""
    return f"{curve['psnr'][at]:.3f}", f"{curve['ssim'][at]:.4f}"
