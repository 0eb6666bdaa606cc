"""Fig. 1 of the paper: the time that each built-in network takes, at full size.

Stated, no promises: at 256x256 and at 1280x720, in turn, with the same threads and layout, in 32
bits, each relative to the paper's network. Draws docs/speed.svg. Speed does not depend on weights.
"""

from functools import partial
from pathlib import Path
from statistics import median

import torch
from matplotlib.figure import Figure
from promise import Promise, note, report, take_turns

from idemnet.models import build_network

NETWORKS = {
    "the paper's network": ("idempotent", {}),
    "DMPHN": ("dmphn", {}),
    "Stack(4)-DMPHN": ("dmphn", {"stack": 4}),
    "MT-RNN": ("mtrnn", {}),
    "gated U-shape (shipped)": ("unet", {}),
}
SIZES = {(256, 256): 15, (720, 1280): 3}
"""Heights and widths, and how often each network restores them."""
PAGE = Path(__file__).parents[1] / "docs" / "speed.svg"


@torch.inference_mode()
def measure(height: int, width: int, rounds: int) -> dict[str, list[float]]:
    """Return seconds relative to the paper's network, by network and round."""
    layout = torch.channels_last
    image = torch.rand(1, 3, height, width).contiguous(memory_format=layout)
    works = []
    for name, arguments in NETWORKS.values():
        network = build_network(name, arguments).eval()
        works.append(partial(network.to(memory_format=layout), image))  # type: ignore[call-overload]
    for work in works:
        work()  # warm-up
    rows = take_turns(rounds, *works)
    return {name: [row[at] / row[0] for row in rows] for at, name in enumerate(NETWORKS)}


def draw(ratios: dict[str, dict[str, list[float]]]) -> None:
    """Draw a bar for each network and size, on a logarithmic axis."""
    figure = Figure(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots()
    thick = 0.8 / len(ratios)
    for at, (size, found) in enumerate(ratios.items()):
        places = [number + at * thick for number in range(len(found))]
        bars = axes.barh(places, [median(some) for some in found.values()], thick, label=size)
        axes.bar_label(bars, fmt="%.3g", padding=3, fontsize=8)
    axes.set_yticks([number + 0.4 - thick / 2 for number in range(len(NETWORKS))], list(NETWORKS))
    axes.set(xscale="log", xlabel="time, relative to the paper's network (CPU, 32 bits)")
    axes.margins(x=0.12)
    axes.invert_yaxis()
    axes.legend(loc="lower right")
    figure.savefig(PAGE, metadata={"Date": None})


def main() -> None:
    note(", ".join(NETWORKS))
    ratios = {
        f"{width}x{height}": measure(height, width, rounds)
        for (height, width), rounds in SIZES.items()
    }
    draw(ratios)
    report(
        *(
            Promise(f"Fig. 1: {name} at {size}, against the paper's network: time", some)
            for size, found in ratios.items()
            for name, some in list(found.items())[1:]
        )
    )


if __name__ == "__main__":
    main()
