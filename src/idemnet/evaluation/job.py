"""Description of an evaluation that a worker carries out item by item."""

import threading
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor

from idemnet.evaluation.cost import measure_cost
from idemnet.evaluation.measure import measure, show
from idemnet.evaluation.parallel import map_in_threads
from idemnet.evaluation.protocols import PROTOCOLS
from idemnet.inference.network import Network
from idemnet.inference.oom import oom_hint
from idemnet.inference.receptive_field import find_period
from idemnet.inference.restore import settle_tiles
from idemnet.inference.tiling import fits, restore_in_tiles
from idemnet.models import iterate
from idemnet.parameters.evaluate import EvaluateParameters
from idemnet.parameters.restore import TilingParameters
from idemnet.steps.data import Pair
from idemnet.system.resources import cores

COST, IMAGE, SAMPLE = "cost", "image", "sample"
AT_ONCE = 4
"""Images evaluated at once: more would share the same cores, and each needs its own memory."""


@dataclass(frozen=True)
class EvaluationJob:
    """Pairs to score, the weights, and the parameters."""

    pairs: tuple[Pair, ...]
    network: Network
    parameters: EvaluateParameters
    device: str

    @cached_property
    def names(self) -> tuple[str, ...]:
        images = [f"{IMAGE} {number}" for number in range(len(self.pairs))]
        samples = [f"{SAMPLE} {number}" for number in self.samples]
        return (COST, *images, *samples)

    @cached_property
    def samples(self) -> list[int]:
        """Return the pairs whose pictures are kept."""
        return evenly_spaced(len(self.pairs), self.parameters.samples)

    @cached_property
    def detailed(self) -> frozenset[int]:
        """Return the pairs that are measured in detail."""
        return frozenset(evenly_spaced(len(self.pairs), self.parameters.detailed_images))

    def make(self, wanted: Collection[str]) -> Iterator[tuple[str, Any]]:
        """Yield each wanted result when it is ready."""
        model = self.network.build(self.device)
        if COST in wanted:  # alone on the machine
            torch.set_num_threads(cores())
            pair = self.pairs[0]
            yield COST, measure_cost(model, pair.height, pair.width, self.device)
        rest = [name for name in wanted if name != COST]
        if not rest:
            return
        workers = min(cores(), AT_ONCE)
        torch.set_num_threads(max(1, cores() // workers))
        restore = partial(self._restore, model, self._tiling(model), threading.Lock())
        work = partial(self._work, restore)
        yield from zip(rest, map_in_threads(work, rest, workers), strict=True)

    def _work(self, restore: Callable[[Tensor], Tensor], name: str) -> Any:
        kind, number = name.split()
        pair, detailed = self.pairs[int(number)], int(number) in self.detailed
        advice = f"a smaller evaluate.tile than {self.parameters.tile} takes less"
        with torch.inference_mode(), oom_hint(advice):
            if kind == SAMPLE:
                return show(pair, restore, self.parameters, self.device)
            protocol = PROTOCOLS[self.parameters.protocol]
            return measure(pair, restore, protocol, self.parameters, self.device, detailed=detailed)

    def _tiling(self, model: torch.nn.Module) -> TilingParameters:
        """Return how images are tiled; the overlap is measured only if there are tiles."""
        whole = all(fits(pair.height, pair.width, self.parameters.tile) for pair in self.pairs)
        return self.parameters if whole else settle_tiles(model, self.parameters, self.device)

    def _restore(
        self, model: Any, tiling: TilingParameters, turn: threading.Lock, image: Tensor
    ) -> Tensor:
        """Return the image after each iteration, (N, 3, H, W)."""
        tiled = partial(
            restore_in_tiles,
            lambda part: torch.cat(iterate(model, part)),
            image,
            tile=tiling.tile,
            overlap=tiling.tile_overlap or 0,
            period=find_period(model),
        )
        if self.device == "cpu":
            return tiled()
        with turn:  # two images at once would only double the memory
            return tiled()


def evenly_spaced(count: int, wanted: int) -> list[int]:
    """Return this many items, evenly spaced from first to last, independent of scores."""
    if wanted >= count:
        return list(range(count))
    return [round(number * (count - 1) / max(1, wanted - 1)) for number in range(wanted)]
