"""synthesize: degraded images beside the clean ones they are made from."""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from idemnet.errors import BadInputError
from idemnet.imaging.blur import Centre, blur_sequence, find_centres
from idemnet.layouts import Place, frames_averaged, place_files
from idemnet.parameters import SynthesisParameters
from idemnet.recipes import FrameSequence, Image, Job, Plan, RawData, Recipe, fingerprint

logger = logging.getLogger(__name__)

VERSION = 1


def synthesize_blur(raw: RawData, synthesis: SynthesisParameters) -> Recipe:
    """Blur around each centre at every level; a data set of pairs passes through, checked.

    Raises:
        BadInputError: If a sequence is shorter than the widest window, or a pair does not fit.
    """
    plan = _plan_blur if raw.sequences else _plan_ready_pairs
    return Recipe(
        fingerprint("synthesize", VERSION, synthesis, raw.fingerprint),
        partial(plan, raw, synthesis),
    )


def _plan_blur(raw: RawData, synthesis: SynthesisParameters) -> Plan:
    jobs, rows, dropped = [], [], 0
    for sequence in raw.sequences:
        centres, without_room = find_centres(sequence, synthesis)
        dropped += without_room
        height, width = sequence.size()
        rows += [
            {
                "split": sequence.split,
                "sequence": sequence.name,
                "frame": sequence.frames[centre.frame],
                "level": level,
                "height": height,
                "width": width,
                "degraded": _blurred_name(sequence, centre, level),
                "clean": _sharp_name(sequence, centre),
            }
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
    synthesis: SynthesisParameters,
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


def _plan_ready_pairs(raw: RawData, synthesis: SynthesisParameters) -> Plan:
    """Point at a ready-made data set's pairs, after every one of them was looked at."""
    degraded_role, clean_role = {
        "gopro": ("blur" if synthesis.response == "linear" else "blur_gamma", "sharp"),
        "flat": ("input", "target"),
    }[raw.layout]
    places = place_files(raw.images, raw.layout, "raw data")  # type: ignore[arg-type]
    degraded = _by_identity(places, degraded_role)
    clean = _by_identity(places, clean_role)
    faults = [
        f"{(degraded.get(one) or clean[one]).name} has no partner"
        for one in sorted(degraded.keys() ^ clean.keys())
    ]
    rows = []
    for identity in sorted(degraded.keys() & clean.keys()):
        image, target = raw.images[degraded[identity].name], raw.images[clean[identity].name]
        height, width = image.size()
        if (height, width) != target.size():
            size = target.size()
            faults.append(f"{image.name} is {width}x{height}, its partner {size[1]}x{size[0]}")
        split, sequence, stem = identity
        rows.append(
            {
                "split": split,
                "sequence": sequence,
                "frame": stem,
                "level": frames_averaged(sequence) or 0,
                "height": height,
                "width": width,
                "degraded": image.name,
                "clean": target.name,
            }
        )
    if faults:
        more = f" and {len(faults) - 10} more" if len(faults) > 10 else ""
        raise BadInputError(f"{len(faults)} pairs do not fit: {'; '.join(faults[:10])}{more}")
    return Plan(about={"pairs": rows}, uses=raw.files)


def _by_identity(places: Sequence[Place], role: str) -> Mapping[tuple[str, str, str], Any]:
    return {
        (place.split, place.sequence, place.stem): place for place in places if place.role == role
    }
