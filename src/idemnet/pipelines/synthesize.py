"""synthesize: degraded images beside the clean ones they are made from."""

import logging
from collections.abc import Collection, Iterator, Sequence
from functools import partial

import numpy as np

from idemnet.errors import BadInputError
from idemnet.imaging.blur import Centre, blur_sequence, find_centres
from idemnet.imaging.haze import make_hazy
from idemnet.imaging.image import FrameSequence, Image, LazyDepth
from idemnet.imaging.rain import make_rainy
from idemnet.parameters.synthesize import BlurParameters, HazeParameters, RainParameters
from idemnet.pipelines.pairs import ROLES, Versions, describe_pair, plan_ready_pairs, plan_versions
from idemnet.steps import versions
from idemnet.steps.data import RawData
from idemnet.steps.plan import Plan, Recipe, fingerprint
from idemnet.storage.executor import Job

logger = logging.getLogger(__name__)


def synthesize_blur(raw: RawData, synthesis: BlurParameters) -> Recipe:
    """Blur around each centre at every level; a data set of pairs passes through, checked.

    Raises:
        BadInputError: If a sequence is shorter than the widest window, or a pair does not fit.
    """
    identity = fingerprint("synthesize", versions.SYNTHESIZE["deblur"], synthesis, raw.fingerprint)
    if raw.sequences:
        return Recipe(identity, partial(_plan_blur, raw, synthesis))
    blurred = "blur" if synthesis.response == "linear" else "blur_gamma"
    roles = {**ROLES, "gopro": (blurred, "sharp")}
    return Recipe(identity, partial(plan_ready_pairs, raw, roles))


def synthesize_haze(raw: RawData, haze: HazeParameters) -> Recipe:
    """Add haze to the middle frame of each sequence, by its depth; pairs pass through, checked.

    Raises:
        BadInputError: If a sequence has no depth map, or a pair does not fit.
    """
    identity = fingerprint("synthesize haze", versions.SYNTHESIZE["dehaze"], haze, raw.fingerprint)
    if not raw.sequences:
        return Recipe(identity, partial(plan_ready_pairs, raw))
    return Recipe(identity, partial(_plan_haze, raw, haze))


def synthesize_rain(raw: RawData, rain: RainParameters) -> Recipe:
    """Let it rain on frames of each sequence; a data set of pairs passes through, checked.

    Raises:
        BadInputError: If a pair does not fit.
    """
    identity = fingerprint("synthesize rain", versions.SYNTHESIZE["derain"], rain, raw.fingerprint)
    if not raw.sequences:
        return Recipe(identity, partial(plan_ready_pairs, raw))
    return Recipe(identity, partial(_plan_rain, raw, rain))


def _plan_haze(raw: RawData, haze: HazeParameters) -> Plan:
    missing = [one for one in raw.sequences if (one.split, one.name) not in raw.depths]
    if missing:
        raise BadInputError(
            f"haze needs depth, but {len(missing)} sequences have no depth map, the first is to be "
            f"depth/{missing[0].split}/{missing[0].name}.png"
        )
    return plan_versions(
        Versions(
            sequence=sequence,
            frames=(len(sequence.frames) // 2,),
            word="hazy",
            levels=haze.levels,
            seed=haze.seed,
            degrade=partial(_hazy, raw.depths[sequence.split, sequence.name], haze),
        )
        for sequence in raw.sequences
    )


def _plan_rain(raw: RawData, rain: RainParameters) -> Plan:
    return plan_versions(
        Versions(
            sequence=sequence,
            frames=_every(rain.stride, len(sequence.frames)),
            word="rainy",
            levels=rain.levels,
            seed=rain.seed,
            degrade=partial(_rainy, rain),
        )
        for sequence in raw.sequences
    )


def _hazy(
    depth: LazyDepth,
    haze: HazeParameters,
    clean: Image,
    strength: float,
    rng: np.random.Generator,
) -> Image:
    distance = depth()
    if distance.shape != clean.shape[:2]:
        raise BadInputError(
            f"a depth map of {distance.shape[1]}x{distance.shape[0]} pixels does not fit its frame "
            f"of {clean.shape[1]}x{clean.shape[0]}"
        )
    return make_hazy(clean, distance, haze, strength, rng)


def _rainy(rain: RainParameters, clean: Image, strength: float, rng: np.random.Generator) -> Image:
    return make_rainy(clean, rain, strength, rng)


def _every(stride: int, length: int) -> tuple[int, ...]:
    """Choose the middles of runs of `stride` frames; of a shorter sequence, its middle."""
    return tuple(range(stride // 2, length, stride)) or (length // 2,)


def _plan_blur(raw: RawData, synthesis: BlurParameters) -> Plan:
    jobs, rows, dropped = [], [], 0
    for sequence in raw.sequences:
        centres, without_room = find_centres(sequence, synthesis)
        dropped += without_room
        size = sequence.size()
        rows += [
            describe_pair(
                sequence,
                size,
                centre.frame,
                level,
                degraded=_blurred_name(sequence, centre, level),
                clean=_sharp_name(sequence, centre),
            )
            for centre in centres
            for level in centre.levels
        ]
        names = [name for centre in centres for name in _names(sequence, centre)]
        jobs.append(Job(tuple(names), partial(_blur, sequence, centres, synthesis)))
    if dropped:
        logger.info("%d centres left out: their widest window does not fit", dropped)
    return Plan(jobs, {"pairs": rows, "centres_without_room": dropped})


def _blur(
    sequence: FrameSequence,
    centres: Sequence[Centre],
    synthesis: BlurParameters,
    wanted: Collection[str],
) -> Iterator[tuple[str, Image]]:
    missing = set(wanted)
    centres = [centre for centre in centres if missing.intersection(_names(sequence, centre))]
    for centre, sharp, blurred in blur_sequence(sequence, centres, synthesis.response):
        yield _sharp_name(sequence, centre), sharp
        for level, image in blurred:
            yield _blurred_name(sequence, centre, level), image


def _names(sequence: FrameSequence, centre: Centre) -> list[str]:
    blurred = [_blurred_name(sequence, centre, level) for level in centre.levels]
    return [_sharp_name(sequence, centre), *blurred]


def _sharp_name(sequence: FrameSequence, centre: Centre) -> str:
    return f"{sequence.split}/{sequence.name}/sharp/{sequence.frames[centre.frame]}.png"


def _blurred_name(sequence: FrameSequence, centre: Centre, level: int) -> str:
    frame = sequence.frames[centre.frame]
    return f"{sequence.split}/{sequence.name}/blurred_{level:02d}/{frame}.png"
