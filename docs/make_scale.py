"""Work out what training at the paper's scale takes on GPUs, and write docs/scale.md.

    python docs/make_scale.py

Work and memory are counted from the layers (nothing is computed), rates of the loader and the codec
are measured here, in seconds of one core, and Dask's jobs on two workers; cards are taken by their makers' figures, of which a
share is assumed. Every figure on the page comes from here.
"""

# ruff: noqa: E501 - a row of a table is one line

import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from idemnet import Restorer
from idemnet.datasets.patches import PatchArray
from idemnet.evaluation.protocols import PROTOCOLS
from idemnet.imaging.crop import cut_patches, patch_grid
from idemnet.imaging.image import Image
from idemnet.imaging.scenes import render_frames
from idemnet.inference.memory import count_alive
from idemnet.media.image_files import decode_image, encode_png
from idemnet.media.photographs import PHOTOGRAPHS
from idemnet.models.cost import count_parameters
from idemnet.models.idempotent import IdempotentNet
from idemnet.parameters.cluster import ClusterParameters
from idemnet.parameters.network import IdempotentParameters
from idemnet.parameters.source import SceneParameters
from idemnet.steps.data import PatchRow
from idemnet.storage.cluster import PART, jobs_on
from idemnet.storage.executor import Job, run_jobs
from idemnet.training.loss import idempotent_loss
from idemnet.training.order import Draw, make_sample

PAGE = Path(__file__).with_name("scale.md")
PAIRS, EPOCHS, BATCH, CROP = 2103, 3000, 6, 256  # GOPRO_Large and section IV-A of the paper
SHARE, BANDWIDTH_SHARE = 0.4, 0.7
COUNTS = (1, 8, 64)
WORKERS = 4  # of conf/paper
IN_A_MACHINE = 8  # GPUs that share a fast link
NETWORK = 12.5e9  # bytes/s between machines: 100 Gbit/s
FRAMES, LEVELS, STRIDE, PATCH, PATCH_STRIDE = 10_000_000, 6, 11, 512, 256
SEQUENCE = 1000  # frames
MACHINE, CLUSTER_SHARE = 32, 0.66  # cores; of their speed, as benchmarks/cluster.py measured
TRIES = 200
RENDERED = 8  # frames, of whose scene the first costs more


@dataclass(frozen=True)
class Card:
    """A GPU by its maker's figures."""

    name: str
    flops: float
    bandwidth: float
    memory: float


CARDS = (
    Card("RTX 2080 Ti, fp32", 13.4e12, 616e9, 11e9),
    Card("A100 SXM 80 GB, fp32", 19.5e12, 2039e9, 80e9),
    Card("A100 SXM 80 GB, TF32", 156e12, 2039e9, 80e9),
)


@dataclass(frozen=True)
class Step:
    """What one crop costs in an update: forward and backward of both passes."""

    flops: float
    traffic: float
    memory: float

    def seconds(self, card: Card) -> float:
        computing = self.flops / (SHARE * card.flops)
        return max(computing, self.traffic / (BANDWIDTH_SHARE * card.bandwidth))

    def limit(self, card: Card) -> str:
        computing = self.flops / (SHARE * card.flops)
        return "arithmetic" if computing >= self.seconds(card) else "memory bandwidth"


class Traffic(TorchDispatchMode):
    """Counts the bytes that all operations read and write, none of them fused with another."""

    total = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if not func.is_view:
            tensors = [one for one in tree_leaves((args, result)) if isinstance(one, torch.Tensor)]
            self.total += sum(one.numel() * one.element_size() for one in tensors)
        return result


def count_step(*, checkpointed: bool) -> Step:
    model = IdempotentNet(IdempotentParameters()).to("meta")
    model.checkpoint_iterations = checkpointed
    image = torch.empty(1, 3, CROP, CROP, device="meta")

    def update() -> None:
        torch.autograd.backward(idempotent_loss(model, image, image)["total"])
        model.zero_grad()

    with FlopCounterMode(display=False) as flops:
        update()
    with Traffic() as traffic:
        update()
    return Step(float(flops.get_total_flops()), float(traffic.total), float(count_alive(update)))


def core_seconds(work: Callable[[], object], times: int) -> float:
    """Return what one call takes of a core, whatever else the machine does."""
    work()
    begun = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - begun) / times


def render(count: int) -> list[Image]:
    """Render frames of 1280x720, as `download` does."""
    scene = SceneParameters(frames=count, height=720, width=1280)
    photographs = [one for one in PHOTOGRAPHS if one.split == "train"]
    return list(render_frames(scene, "train", 0, photographs))


def measure_evaluation(frame: Image) -> float:
    """Return the seconds of restoring a frame once with the bundled weights, and of its scores."""
    restore = Restorer.load("deblur")
    protocol = PROTOCOLS["gopro"]
    return core_seconds(lambda: protocol.score(restore(frame), frame), 3)


def measure_codec(frame: Image) -> tuple[float, float, float, int]:
    """Give the seconds of decoding, encoding and cutting a frame, and its bytes as PNG."""
    png = encode_png(frame)
    decoding = core_seconds(lambda: decode_image(png, "frame.png"), 10)
    grid = patch_grid(720, 1280, PATCH, PATCH_STRIDE)
    cutting = core_seconds(lambda: cut_patches(frame, grid, PATCH).tobytes(), 10)
    return decoding, core_seconds(lambda: encode_png(frame), 10), cutting, len(png)


def measure_job() -> float:
    """Give what handing out a job takes of a core, in the process of the run and the scheduler."""

    def make(wanted: Collection[str]) -> Iterator[tuple[str, None]]:
        return ((name, None) for name in wanted)

    jobs = [Job((str(number),), make) for number in range(5 * TRIES)]
    with tempfile.TemporaryDirectory() as place, jobs_on(ClusterParameters(local=2)):
        for name, some in (("first", jobs[:9]), ("all", jobs)):
            begun = time.process_time()  # of this process: workers have their own
            run_jobs(some, Path(place), Path(place, name), lambda *_: None, name)
        return (time.process_time() - begun) / len(jobs)


@dataclass(frozen=True)
class DataStep:
    """A step over all frames, on machines that share a folder."""

    name: str
    core_seconds: float
    jobs: int
    traffic: float

    def row(self, job: float) -> str:
        seconds = [
            max(self.core_seconds / (MACHINE * machines * CLUSTER_SHARE), self.jobs * job)
            for machines in COUNTS
        ]
        return (
            f"| {self.name} | {self.core_seconds / 3600:,.0f} | {self.jobs:,} | "
            f"{self.jobs * job / 60:,.0f} min | {self.traffic / 1e12:,.0f} TB | "
            + " | ".join(
                f"{one / 60:,.0f} min, {self.traffic / one / 1e9:,.0f} GB/s" for one in seconds
            )
            + " |"
        )


def measure_loader(pairs: int) -> float:
    """Return the seconds of one augmented sample of a store in the page cache."""
    with tempfile.TemporaryDirectory() as place:
        random = np.random.default_rng(0)
        np.save(Path(place, "patches.npy"), random.integers(0, 256, (8, PATCH, PATCH, 3), np.uint8))
        rows = tuple(PatchRow("s", str(n), 11, 0, 0, n % 4, 4 + n % 4) for n in range(8))
        patches = PatchArray(Path(place), rows)
        groups = [[n % 8] for n in range(pairs)]
        drawn = iter(range(TRIES + 1))
        return core_seconds(
            lambda: make_sample(
                patches, groups, Draw(0, next(drawn)),
                seed=0, patch_size=PATCH, crop=CROP, saturation=(0.8, 1.2),
            ),
            TRIES,
        )  # fmt: skip


def measure_row() -> float:
    """Return the bytes that a patch's row takes in memory, with its place in its pair's group."""
    tracemalloc.start()
    rows = [PatchRow(f"GOPR{n:07}", f"{n:06}", 11, 256, 512, 2 * n, 2 * n + 1) for n in range(9999)]
    groups = [[n] for n in range(len(rows))]
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return taken / len(groups)


def training_rows(plain: Step, checkpointed: Step, sample: float) -> list[str]:
    rows = []
    gradients = 4 * count_parameters(IdempotentNet(IdempotentParameters()))
    for card in CARDS:
        fits = BATCH * plain.memory <= card.memory
        name = card.name if fits else f"{card.name}, checkpointed"
        for gpus in COUNTS:
            step = BATCH * (plain if fits else checkpointed).seconds(card)
            # A ring passes the gradients around twice; inside a machine that takes no time.
            talk = 2 * gradients / NETWORK if gpus > IN_A_MACHINE else 0.0
            updates = EPOCHS * PAIRS // (BATCH * gpus)
            rate = BATCH * gpus / (step + talk)
            rows.append(
                f"| {name} | {gpus} | {BATCH * gpus} | {updates:,} | {1e3 * step:,.0f} ms | "
                f"{1e3 * talk:.1f} ms | {_duration(updates * (step + talk))} | {rate:,.0f} | "
                f"{rate * 2 * 3 * CROP**2 / 1e6:,.0f} MB/s | {rate * sample:.1f} |"
            )
    return rows


def _duration(seconds: float) -> str:
    hours = seconds / 3600
    return f"{hours / 24:,.1f} days" if hours >= 48 else f"{hours:.1f} h"


def write_page() -> str:
    plain, checkpointed = count_step(checkpointed=False), count_step(checkpointed=True)
    sample = measure_loader(PAIRS)
    rendering = core_seconds(lambda: render(RENDERED), 1) / RENDERED
    [frame, *_] = render(2)
    decoding, encoding, cutting, png = measure_codec(frame)
    evaluating = measure_evaluation(frame) + 2 * decoding
    job = measure_job()
    centres = FRAMES // STRIDE
    pairs = LEVELS * centres
    grid = len(patch_grid(720, 1280, PATCH, PATCH_STRIDE))
    store = (pairs + centres) * grid * 3 * PATCH**2
    preparing = FRAMES * decoding + (pairs + centres) * encoding
    images = pairs + centres
    shared = "\n".join(
        step.row(job)
        for step in (
            DataStep(
                "download (rendered scenes)",
                FRAMES * (rendering + encoding),
                FRAMES // SEQUENCE,
                FRAMES * png,
            ),
            DataStep("synthesize", preparing, FRAMES // SEQUENCE, (FRAMES + images) * png),
            DataStep("crop", images * (decoding + cutting), centres, images * png + store),
            DataStep(
                "evaluate (all pairs)", pairs * evaluating, pairs // PART, (pairs + centres) * png
            ),
        )
    )
    many = measure_loader(pairs)
    rows_in_memory = pairs * grid * measure_row()
    steps = "\n".join(
        f"| {name} | {step.flops / 1e12:.2f} TFLOP | {step.traffic / 1e9:.0f} GB | "
        f"{step.memory / 1e9:.1f} GB | {BATCH * step.memory / 1e9:.0f} GB |"
        for name, step in (("as it is", plain), ("iterations checkpointed", checkpointed))
    )
    limits = "; ".join(
        f"{card.name}: {plain.limit(card)}, {1 / plain.seconds(card):.1f} crops/s, fits "
        f"{int(card.memory // plain.memory)} crops, {int(card.memory // checkpointed.memory)} "
        "checkpointed"
        for card in CARDS
    )
    table = "\n".join(training_rows(plain, checkpointed, sample))
    return f"""# Training at the paper's scale, and beyond

Worked out by `python docs/make_scale.py`, which wrote this page; no GPU was used, so times on GPUs
are predictions. Counted from the layers: arithmetic, bytes and memory. Measured: what the loader and
the codec take of one core. Assumed:

- {SHARE:.0%} of a card's peak arithmetic and {BANDWIDTH_SHARE:.0%} of its memory bandwidth are sustained,
  and no operation is fused with another. Peaks are NVIDIA's: RTX 2080 Ti (the paper's card) 13.4
  TFLOPS in fp32, 616 GB/s, 11 GB; A100 SXM 80 GB 19.5 TFLOPS in fp32, 156 in TF32, 2,039 GB/s (data
  sheets of the two). Half of these shares would double the times.
- {IN_A_MACHINE} GPUs share a machine, in which exchanging gradients takes no time; between machines
  there are 100 Gbit/s, and gradients are not exchanged while others are still computed.
- Every GPU takes {BATCH} crops, so that the batch grows with the number of GPUs: {" and ".join(str(BATCH * n) for n in COUNTS[1:])}
  instead of {BATCH}. Whether that reaches the paper's scores with another learning rate is not known; the
  paper's own batch keeps no more than {BATCH} GPUs busy.

## One crop of {CROP}x{CROP} in an update

Two passes of six iterations, forward and backward, 32 bits: `--env=paper` computes in fp32, as the
paper did (`mixed_precision: "off"`, which also turns TF32 off). With `mixed_precision: auto`
convolutions compute in bfloat16, for which the rows of TF32 are a cautious estimate.

| | arithmetic | bytes read and written | peak memory | of {BATCH} crops |
|---|---|---|---|---|
{steps}

What limits: {limits}.

## {EPOCHS:,} epochs of {PAIRS:,} pairs

Where {BATCH} crops do not fit, iterations are checkpointed.

| card | GPUs | batch | updates | an update | exchange | in all | crops/s | read | cores for loading |
|---|---|---|---|---|---|---|---|---|---|
{table}

- **The network is the limit, not the loader.** One core gives {1 / sample:,.0f} augmented crops a second
  ({1e3 * sample:.1f} ms each, from memory-mapped patches in the page cache); the last column says how many
  cores all GPUs together keep busy. The {WORKERS} workers that conf/paper gives each GPU would saturate at
  {WORKERS / sample:,.0f} crops/s, and the fastest card here takes {1 / plain.seconds(CARDS[-1]):,.0f}. The paper's patches, {PAIRS * grid * 2 * 3 * PATCH**2 / 1e9:,.0f} GB with a clean one for each
  blurred one, stay in the page cache of a machine that has as much.
- **Memory** decides on small cards: see above how many crops fit, and `checkpoint_iterations`.
- **Gradients** are {4 * count_parameters(IdempotentNet(IdempotentParameters())) / 1e6:.1f} MB, which is little: the exchange never limits.

## {FRAMES / 1e6:.0f} million frames

With windows every {STRIDE} frames and {LEVELS} levels: {pairs / 1e6:.1f} million pairs, {pairs / PAIRS:,.0f} times GOPRO_Large.

| what | takes | what changes |
|---|---|---|
| frames as PNG ({png / 1e6:.1f} MB each, rendered ones) | {FRAMES * png / 1e12:.0f} TB | they must lie where every machine can read them |
| synthesis, decoding and encoding alone | {preparing / 3600:,.0f} core hours | machines share the jobs: see below |
| patches, uncompressed ({grid} of {PATCH}x{PATCH} an image) | {store / 1e12:.0f} TB | too much: cut crops from the pairs as they are read, or keep fewer patches; one array a split must become one for each of many shards |
| index in memory of every process ({measure_row():.0f} bytes a row) | {rows_in_memory / 1e9:.1f} GB | rows as arrays instead of Python objects (7 numbers of 32 bits: {pairs * grid * 28 / 1e9:.1f} GB), mapped and shared |
| one sample, with {pairs / 1e6:.1f} million pairs to draw from | {1e3 * many:.1f} ms, {1e3 * sample:.1f} with {PAIRS:,} | an epoch's order is drawn once and kept ({8 * pairs / 1e6:.0f} MB); it was drawn for every sample |
| reading crops from disk, 64 x {CARDS[2].name} | {64 / plain.seconds(CARDS[2]) * 2 * 3 * CROP**2 / 1e9:.2f} GB/s | nothing is in the page cache any more: each row of a crop is its own place on disk, so SSDs, or whole patches read at once |
| {EPOCHS:,} epochs | {EPOCHS * pairs / 1e9:.0f} billion crops | nobody needs them: as many updates as before are {100 * PAIRS / pairs:.2f}% of the epochs, about {EPOCHS * PAIRS / pairs:.1f}; schedules then count updates |

### On 1, 8 and 64 machines

Jobs of a Dask cluster ([training.md](training.md#data-on-several-machines)). Measured: rendering a frame of 1280x720, decoding, encoding
and cutting it, restoring it once with the bundled weights and scoring that, each on one core, and handing out a job: {1e3 * job:.1f} ms of the core that run and scheduler share in `cluster.local=2`, for {5 * TRIES:,} jobs with
nothing to do. No number of machines makes that shorter. Assumed: a scheduler does not slow down with many workers (not
measured); {MACHINE} cores a machine at {CLUSTER_SHARE} of their speed, as
[performance.md](performance.md) measured for two workers; {SEQUENCE:,} frames a sequence; a shared folder that is as fast as the columns say.

| step | core hours | jobs | handing out | read and written | {" | ".join(f"{n} machine{'s' * (n > 1)}" for n in COUNTS)} |
|---|---|---|---|---|{"---|" * len(COUNTS)}
{shared}

Rendering and evaluation compute, and scale with cores; for synthesize and crop the shared folder is the first limit. `crop` has a job for every clean image, so its jobs
are handed out for longer than the machines need to run them: fewer, larger jobs would change that.
"""


def main() -> None:
    torch.set_num_threads(1)
    PAGE.write_text(write_page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")


if __name__ == "__main__":
    main()
