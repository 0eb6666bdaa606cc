"""The page: what was found, put into the template."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from idemnet.evaluation.protocols import PROTOCOLS
from idemnet.reporting import words as say
from idemnet.reporting.beside import PAPER_IMAGES
from idemnet.reporting.findings import Findings
from idemnet.reporting.tables import ARROW, gain
from idemnet.reporting.templates import fill
from idemnet.reporting.topics import topics_of


@dataclass(frozen=True)
class HeadlineFigure:
    label: str
    value: str
    notes: tuple[str, ...]


def render_page(found: Findings) -> str:
    """Return the page of a report."""
    metrics = found.metrics
    return fill(
        "report.html.j2",
        found=found,
        metrics=metrics,
        words=found.words,
        dataset=say.name_of(metrics["dataset"]),
        protocol=PROTOCOLS[metrics["protocol"]],
        notice=notice(metrics),
        headline=headline(found),
        sentences=say.describe(metrics, [gain(row) for row in found.rows]),
        topics=topics_of(found),
        environment=" --env=paper" if metrics["dataset"] == "gopro" else "",
    )


def notice(metrics: Mapping[str, Any]) -> str:
    """Return what the scores must not be taken for; nothing if they are what the paper measured."""
    if metrics["dataset"] == "builtin":
        return (
            "These are figures of the built-in scenes, rendered for trying things out, not of "
            "GoPro or any published data set. They cannot be compared with the paper's."
        )
    if metrics["task"] == "deblur" and metrics["dataset"] != "gopro":
        return (
            f"These are figures of the data set “{metrics['dataset']}”, not of GoPro. They cannot "
            "be compared with the paper's GoPro tables."
        )
    if metrics["dataset"] == "gopro" and metrics["images"] != PAPER_IMAGES:
        return (
            f"These are figures of {metrics['images']:,} of GoPro's {PAPER_IMAGES:,} test images. "
            "They cannot be compared with the paper's, which are of all."
        )
    return ""


def headline(found: Findings) -> list[HeadlineFigure]:
    metrics = found.metrics
    before, after, repeat = metrics["input"], metrics["restored"], metrics["repeat"]
    curve, loss = repeat["psnr"], say.loss_of(metrics)
    more = [
        f"{name} {before[name]:.4f} {ARROW} {after[name]:.4f}"
        for name in after
        if name.startswith("ssim")
    ]
    return [
        HeadlineFigure(
            "Gain",
            f"{say.signed(say.gain_of(metrics))} dB",
            (f"PSNR {before['psnr']:.2f} {ARROW} {after['psnr']:.2f} dB",),
        ),
        HeadlineFigure("SSIM", f"{before['ssim']:.3f} {ARROW} {after['ssim']:.3f}", tuple(more)),
        HeadlineFigure(
            f"{'Loss' if loss >= 0 else 'Gain'} over {say.passes(len(curve))}",
            f"{abs(loss):.2f} dB",
            (
                f"PSNR {curve[0]:.2f} {ARROW} {curve[-1]:.2f} dB",
                f"{say.count(repeat['images'], 'image')}, chain {repeat['chain']}",
            ),
        ),
        HeadlineFigure(
            "Measured on",
            say.count(metrics["images"], "image"),
            (say.name_of(metrics["dataset"]), f"protocol {metrics['protocol']}"),
        ),
        HeadlineFigure("Device", metrics["device"], (metrics["cost"]["device_name"],)),
    ]
