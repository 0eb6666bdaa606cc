"""Score two sets of images from any source, paired by name.

All or nothing: a mean over only the readable images would be a mean over a different set than its
readers assume.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from idemnet.errors import BadInputError
from idemnet.evaluation.parallel import map_in_threads
from idemnet.evaluation.protocols import Protocol
from idemnet.evaluation.scores import Scores
from idemnet.imaging.image import Image, StoredImage

CROPPING = ("rgb", "griddehaze")
"""Protocols of data sets whose clean images are larger than the degraded ones."""

Named = tuple[str, StoredImage]
"""An image and the stem that it is paired by."""


@dataclass(frozen=True)
class ScoredPair:
    """A restored image and its reference."""

    name: str
    restored: StoredImage
    reference: StoredImage


def pair_by_stem(
    restored: Sequence[Named], reference: Sequence[Named]
) -> tuple[list[ScoredPair], list[str]]:
    """Return the pairs in order of name, and a message about each unpaired image."""
    ours, theirs = _by_stem(restored), _by_stem(reference)
    pairs, faults = [], []
    for stem in sorted(ours.keys() | theirs.keys()):
        faults += [
            f"{', '.join(image.name for image in images)}: have the same stem"
            for images in (ours[stem], theirs[stem])
            if len(images) > 1
        ]
        if not theirs[stem]:
            faults += [f"{image.name}: has no reference" for image in ours[stem]]
        elif not ours[stem]:
            faults += [f"{image.name}: has no restored image" for image in theirs[stem]]
        elif len(ours[stem]) == len(theirs[stem]) == 1:
            pairs.append(ScoredPair(stem, ours[stem][0], theirs[stem][0]))
    return pairs, faults


def _by_stem(images: Sequence[Named]) -> defaultdict[str, list[StoredImage]]:
    found: defaultdict[str, list[StoredImage]] = defaultdict(list)
    for stem, image in images:
        found[stem].append(image)
    return found


def score_pairs(
    pairs: Sequence[ScoredPair],
    faults: Sequence[str],
    protocol: Protocol,
    *,
    crop: int,
    threads: int,
    advance: Callable[[int], None],
) -> Scores:
    """Score every pair, or none if there is a problem.

    Args:
        pairs: Pairs to score.
        faults: Problems already found. If there are any, the pairs are only checked, so that one
            message can list everything.
        protocol: Scoring protocol.
        crop: Pixels cropped from each side of references that are larger by exactly that.
        threads: Images scored at the same time.
        advance: Called after each image.

    Raises:
        BadInputError: If there is a problem, with one line for each.
    """
    faults = [*faults, *(fault for pair in pairs for fault in _check_sizes(pair, crop))]
    healthy = not faults

    def work(pair: ScoredPair) -> tuple[dict[str, float], list[str]]:
        nonlocal healthy
        scores: dict[str, float] = {}
        images, wrong = _read(pair)
        if healthy and not wrong:
            try:
                scores = protocol.score(images[0], _cut(images[1], images[0], crop))
            except BadInputError as error:
                wrong = [f"{pair.restored.name}: {error}"]
        healthy = healthy and not wrong
        return scores, wrong

    scores = {}
    results = map_in_threads(work, pairs, threads)
    for pair, (score, wrong) in zip(pairs, results, strict=True):
        scores[pair.name] = score
        faults += wrong
        advance(1)
    if faults:
        lines = "".join(f"\n  {fault}" for fault in faults)
        raise BadInputError(f"nothing was scored, problems found: {len(faults)}{lines}")
    return Scores(protocol, scores)


def _check_sizes(pair: ScoredPair, crop: int) -> list[str]:
    """Compare sizes by the headers alone, before scoring anything."""
    try:
        height, width = pair.restored.size()
        rows, columns = pair.reference.size()
    except (BadInputError, OSError):
        return []  # reported when it is read
    more = rows - height, columns - width
    if more in ((0, 0), (2 * crop, 2 * crop)):
        return []
    fault = f"{pair.restored.name}: is {width}x{height}, its reference {columns}x{rows}"
    if more[0] == more[1] > 0 and more[0] % 2 == 0:
        fault += (
            f"; if that has a border of {more[0] // 2} pixels, as RESIDE's clear images do, use "
            f"--crop-reference {more[0] // 2} (with {' or '.join(CROPPING)})"
        )
    return [fault]


def _read(pair: ScoredPair) -> tuple[list[Image], list[str]]:
    images, wrong = [], []
    for stored in (pair.restored, pair.reference):
        try:
            images.append(stored())
        except BadInputError as error:
            wrong.append(str(error))
        except OSError as error:
            wrong.append(f"{stored.name}: cannot be read ({error.strerror})")
    return images, wrong


def _cut(reference: Image, restored: Image, crop: int) -> Image:
    if reference.shape == restored.shape:
        return reference
    return reference[crop:-crop, crop:-crop]
