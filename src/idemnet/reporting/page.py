"""Render the report's page."""

from dataclasses import dataclass

from idemnet.evaluation.protocols import PROTOCOLS
from idemnet.reporting import formatting
from idemnet.reporting.comparability import environment_option
from idemnet.reporting.findings import Findings
from idemnet.reporting.tables import ARROW
from idemnet.reporting.templates import fill, paragraphs, sentence
from idemnet.reporting.topics import topics_of
from idemnet.studies.parts.paper import IMAGES

NOTICEABLE, SMALL = 0.1, 0.5
"""Gains in dB below which nothing, or little, is visible."""
STABLE = 0.05
"""Loss in dB over all passes below which a network counts as stable."""


@dataclass(frozen=True)
class HeadlineNumber:
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
        dataset=formatting.dataset_title(metrics.dataset),
        protocol=PROTOCOLS[metrics.protocol],
        notice=sentence("notice", metrics=metrics, all_images=IMAGES),
        headline=headline(found),
        meaning=paragraphs(
            "meaning", metrics=metrics, words=found.words, better=found.better,
            noticeable=NOTICEABLE, small=SMALL, stable=STABLE,
        ),
        topics=topics_of(found),
        environment=environment_option(metrics.dataset),
    )  # fmt: skip


def headline(found: Findings) -> list[HeadlineNumber]:
    metrics = found.metrics
    before, after, repeat = metrics.input, metrics.restored, metrics.repeat
    curve, loss = repeat.psnr, repeat.loss
    more = [f"ssim {before.ssim:.4f} {ARROW} {after.ssim:.4f}"]
    if before.ssim_matlab is not None:
        more.append(f"ssim_matlab {before.similarity:.4f} {ARROW} {after.similarity:.4f}")
    return [
        HeadlineNumber(
            "Gain",
            f"{formatting.signed(metrics.gain)} dB",
            (f"PSNR {before.psnr:.2f} {ARROW} {after.psnr:.2f} dB",),
        ),
        HeadlineNumber("SSIM", f"{before.ssim:.3f} {ARROW} {after.ssim:.3f}", tuple(more)),
        HeadlineNumber(
            f"{'Loss' if loss >= 0 else 'Gain'} over {formatting.in_words(len(curve))} passes",
            f"{abs(loss):.2f} dB",
            (
                f"PSNR {curve[0]:.2f} {ARROW} {curve[-1]:.2f} dB",
                f"{formatting.count(repeat.images, 'image')}, chain {repeat.chain}",
            ),
        ),
        HeadlineNumber(
            "Measured on",
            formatting.count(metrics.images, "image"),
            (formatting.dataset_title(metrics.dataset), f"protocol {metrics.protocol}"),
        ),
        HeadlineNumber("Device", metrics.device, (metrics.cost.device_name,)),
    ]
