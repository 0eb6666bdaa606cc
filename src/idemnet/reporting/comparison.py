"""Compare runs: scores, the settings that differ, and repeat curves."""

import io
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from idemnet.imaging.metrics import gain, loss
from idemnet.parameters.renamed import with_new_names
from idemnet.steps.data import TrackedRun

REPEAT = "test/repeat/psnr"
ROWS = {
    "images": ("test/images", "{:.0f}"),
    "input PSNR": ("test/input/psnr", "{:.2f} dB"),
    "restored PSNR": ("test/restored/psnr", "{:.2f} dB"),
    "restored SSIM": ("test/restored/ssim", "{:.4f}"),
    "validation PSNR": ("final/validation/psnr", "{:.2f} dB"),
    "parameters": ("test/cost/parameters", "{:,.0f}"),
    "seconds per image": ("test/cost/seconds/median", "{:.3f}"),
}
"""Scores to show, by their names in MLflow."""


MUST_AGREE = ("task", "dataset", "protocol")
"""Tags that must be equal for scores to be comparable."""


def warn(runs: Sequence[TrackedRun]) -> str | None:
    """Explain why scores are not comparable, if they are not."""
    said = {tag: {run.tags[tag] for run in runs if tag in run.tags} for tag in MUST_AGREE}
    apart = [tag for tag, values in said.items() if len(values) > 1]
    return (
        f"these scores are not comparable: the runs differ in {', '.join(apart)}" if apart else None
    )


def tabulate(runs: Sequence[TrackedRun]) -> list[list[str]]:
    """Return a table, runs as columns: scores first, then the parameters that differ."""
    table = [["", *(run.name for run in runs)]]
    table += [[tag, *(run.tags.get(tag, "-") for run in runs)] for tag in MUST_AGREE]
    for title, (name, form) in ROWS.items():
        cells = [form.format(run.metrics[name]) if name in run.metrics else "-" for run in runs]
        table.append([title, *cells])
    table.append(["gain", *(_gain(run) for run in runs)])
    table.append(["lost by repeating", *(_lost(run) for run in runs)])
    parameters = [with_new_names(run.parameters, "train.") for run in runs]
    for name in differing(parameters):
        table.append([name, *(one.get(name, "-") for one in parameters)])
    return table


def differing(parameters: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the names of parameters that differ."""
    names = sorted({name for one in parameters for name in one})
    return [name for name in names if len({one.get(name) for one in parameters}) > 1]


def _gain(run: TrackedRun) -> str:
    before, after = run.metrics.get("test/input/psnr"), run.metrics.get("test/restored/psnr")
    return "-" if before is None or after is None else f"{gain(before, after):+.2f} dB"


def _lost(run: TrackedRun) -> str:
    curve = run.curves.get(REPEAT)
    if not curve:
        return "-"
    return f"{loss([psnr for _, psnr in curve]):.2f} dB in {curve[-1][0]} passes"


def draw_repeat_curves(runs: Sequence[TrackedRun], file_format: str) -> bytes:
    """Draw the repeat curves of the runs that were evaluated."""
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    for run in runs:
        if curve := run.curves.get(REPEAT):
            axes.plot(*zip(*curve, strict=True), marker="o", label=run.name)
    axes.set(xlabel="pass", ylabel="PSNR (dB)", title="Restored again and again")
    axes.grid(alpha=0.3)
    if axes.lines:
        axes.legend()
    target = io.BytesIO()
    figure.savefig(target, format=file_format, dpi=150)
    return target.getvalue()
