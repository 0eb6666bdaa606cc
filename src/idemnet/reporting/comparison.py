"""Runs side by side: figures, what was set differently, and their repeat curves."""

import io
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

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
"""What is shown of a run, by the names that MLflow has it under."""


MUST_AGREE = ("task", "dataset", "protocol")
"""Tags; figures of runs that differ in one of them do not compare."""


def warn(runs: Sequence[TrackedRun]) -> str | None:
    """Explain why scores do not compare, where they do not."""
    said = {tag: {run.tags[tag] for run in runs if tag in run.tags} for tag in MUST_AGREE}
    apart = [tag for tag, values in said.items() if len(values) > 1]
    return f"these figures do not compare: the runs differ in {', '.join(apart)}" if apart else None


def tabulate(runs: Sequence[TrackedRun]) -> list[list[str]]:
    """Return a table, runs as columns: figures first, then the parameters in which they differ."""
    table = [["", *(run.name for run in runs)]]
    table += [[tag, *(run.tags.get(tag, "-") for run in runs)] for tag in MUST_AGREE]
    for title, (name, form) in ROWS.items():
        cells = [form.format(run.metrics[name]) if name in run.metrics else "-" for run in runs]
        table.append([title, *cells])
    table.append(["gain", *(_difference(run, "test/restored/psnr") for run in runs)])
    table.append(["lost by repeating", *(_lost(run) for run in runs)])
    for name in differing([run.parameters for run in runs]):
        table.append([name, *(run.parameters.get(name, "-") for run in runs)])
    return table


def differing(parameters: Sequence[Mapping[str, str]]) -> list[str]:
    """Name the parameters that are not the same in all."""
    names = sorted({name for one in parameters for name in one})
    return [name for name in names if len({one.get(name) for one in parameters}) > 1]


def _difference(run: TrackedRun, name: str) -> str:
    if not {name, "test/input/psnr"} <= run.metrics.keys():
        return "-"
    return f"{run.metrics[name] - run.metrics['test/input/psnr']:+.2f} dB"


def _lost(run: TrackedRun) -> str:
    curve = run.curves.get(REPEAT)
    if not curve:
        return "-"
    return f"{curve[0][1] - curve[-1][1]:.2f} dB in {curve[-1][0]} passes"


def draw_repeat_curves(runs: Sequence[TrackedRun], file_format: str) -> bytes:
    """Overlay the repeat curves; runs that were not evaluated have none."""
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
