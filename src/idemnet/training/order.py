"""Which sample comes when, and how it is changed: a pure function of (seed, epoch, place).

No state of loaders or random generators is kept anywhere, so any number of workers, and any point
of resuming, gives the same samples to the bit.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from idemnet.imaging.augment import FloatImage, change_saturation, soften, to_float, turn
from idemnet.steps.data import PatchReader
from idemnet.steps.mix import source_of


class Draw(NamedTuple):
    """One sample of one epoch."""

    epoch: int
    place: int
    """In the epoch's order."""


class Share(NamedTuple):
    """One source's part of every epoch."""

    pairs: int
    draws: int


def group_by_pair(patches: PatchReader) -> list[list[int]]:
    """Return the patches of each pair of images; an epoch takes one crop from every pair."""
    groups: dict[tuple[str, str, int], list[int]] = {}
    for number, row in enumerate(patches.rows):
        groups.setdefault((row.sequence, row.frame, row.level), []).append(number)
    return list(groups.values())


def less_blurred(patches: PatchReader) -> list[list[int]]:
    """Return for each patch the less blurred ones of the same place, most blurred first."""
    places: dict[tuple[str, str, int, int], list[tuple[int, int]]] = {}
    for number, row in enumerate(patches.rows):
        place = (row.sequence, row.frame, row.top, row.left)
        places.setdefault(place, []).append((row.level, number))
    ladders: list[list[int]] = [[] for _ in patches.rows]
    for levels in places.values():
        numbers = [number for _, number in sorted(levels, reverse=True)]
        for below, number in enumerate(numbers, 1):
            ladders[number] = numbers[below:]
    return ladders


def share_epoch(
    patches: PatchReader, pairs: Sequence[Sequence[int]], weights: Mapping[str, float]
) -> tuple[Share, ...]:
    """Divide an epoch by the sources' weights: as many draws as there are pairs, each at least one.

    Without weights there is one source, and an epoch draws each of its pairs once.
    """
    if not weights:
        return (Share(len(pairs), len(pairs)),)
    counts = Counter(source_of(patches.rows[pair[0]].sequence) for pair in pairs)
    unit = len(pairs) / sum(weights.values())
    return tuple(
        Share(counts[name], max(1, round(unit * weight))) for name, weight in weights.items()
    )


@lru_cache(maxsize=2)
def order_epoch(seed: int, epoch: int, shares: tuple[Share, ...]) -> NDArray[np.int64]:
    """Return the pair that each place of an epoch draws.

    Each source is gone through again and again, in another order every time, wherever epochs begin;
    its draws are spread evenly over the epoch, so that batches are mixed in proportion.
    """
    drawn, first = [], 0
    for share in shares:
        drawn.append(first + _draw(seed, epoch, share))
        first += share.pairs
    places = [(np.arange(share.draws) + 0.5) / share.draws for share in shares]
    order = np.concatenate(drawn)[np.argsort(np.concatenate(places), kind="stable")]
    order.flags.writeable = False  # it is shared: asked for with every sample, it takes long
    return order


def _draw(seed: int, epoch: int, share: Share) -> NDArray[np.int64]:
    """Return the pairs of one source that an epoch draws."""
    rounds, skipped = divmod(epoch * share.draws, share.pairs)
    last = ((epoch + 1) * share.draws - 1) // share.pairs
    orders = [shuffled(seed, number, share.pairs) for number in range(rounds, last + 1)]
    return np.concatenate(orders)[skipped : skipped + share.draws]


def shuffled(seed: int, number: int, count: int) -> NDArray[np.int64]:
    """Return the order in which a source is gone through for the given time."""
    return np.random.default_rng([seed, number]).permutation(count)


def spread(sequences: Sequence[str], count: int, weights: Mapping[str, float]) -> list[int]:
    """Choose items for validation, spread over their sequences; of several sources, by weight."""
    numbers: dict[str, list[int]] = {}
    for number, sequence in enumerate(sequences):
        numbers.setdefault(source_of(sequence) if weights else "", []).append(number)
    unit = count / sum(weights.get(name, 1.0) for name in numbers)
    chosen = []
    for name, own in numbers.items():
        wanted = min(max(1, round(unit * weights.get(name, 1.0))), len(own))
        chosen += [own[at] for at in np.linspace(0, len(own) - 1, wanted).astype(int)]
    return chosen


def batches(pairs: int, batch_size: int, epochs: int, start: int) -> Iterator[list[Draw]]:
    """Return the draws of every batch from update number `start` on; a short rest is left out."""
    per_epoch = pairs // batch_size
    for update in range(start, epochs * per_epoch):
        epoch, batch = divmod(update, per_epoch)
        first = batch * batch_size
        yield [Draw(epoch, place) for place in range(first, first + batch_size)]


def make_sample(
    patches: PatchReader,
    pairs: Sequence[Sequence[int]],
    draw: Draw,
    *,
    seed: int,
    patch_size: int,
    crop: int,
    saturation: tuple[float, float],
    softness: tuple[float, float] = (0.0, 0.0),
    grain: tuple[float, float] = (0.0, 0.0),
    ladders: Sequence[Sequence[int]] = (),
    iterations: int = 1,
    shares: tuple[Share, ...] = (),
) -> tuple[FloatImage, FloatImage, str]:
    """Cut one augmented pair, and name it.

    `shares` (of `share_epoch`) are those of several sources; without them there is one.

    Given ladders (of `less_blurred`), the clean image becomes a stack of what each iteration is
    asked for: a step down the ladder, and the clean image from where it ends, the last in any case.
    """
    random = np.random.default_rng([seed, draw.epoch, draw.place])
    order = order_epoch(seed, draw.epoch, shares or share_epoch(patches, pairs, {}))
    pair = pairs[int(order[draw.place])]
    number = pair[int(random.integers(len(pair)))]
    top, left = random.integers(patch_size - crop + 1, size=2)
    turns, flip = int(random.integers(4)), bool(random.integers(2))
    factor = random.uniform(*saturation)
    soft, coarse = random.uniform(*softness), random.uniform(*grain) / 255

    def cut(patch: int) -> list[FloatImage]:
        return [
            soften(change_saturation(to_float(turn(image, turns, flip=flip)), factor), soft)
            for image in patches.read(patch, int(top), int(left), crop)
        ]

    degraded, clean = cut(number)
    if coarse:
        degraded += np.float32(coarse) * random.standard_normal(degraded.shape, np.float32)
    if ladders:
        steps = [cut(patch)[0] for patch in ladders[number][: iterations - 1]]
        clean = np.stack([*steps, *[clean] * (iterations - len(steps))])
    row = patches.rows[number]
    name = f"{row.sequence}/{row.frame} level {row.level} at ({row.top + top}, {row.left + left})"
    return degraded, clean, name
