"""Pictures to try the page with: installed packages' photographs, with blur, haze and rain."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from PIL import Image as PillowImage

from idemnet.imaging.blur import average_windows
from idemnet.imaging.haze import make_hazy
from idemnet.imaging.image import Image
from idemnet.imaging.motion import draw_camera
from idemnet.imaging.rain import make_rainy
from idemnet.media.photographs import PHOTOGRAPHS, Photograph
from idemnet.parameters.synthesize import HazeParameters, RainParameters

FRAMES = 15


@dataclass(frozen=True)
class Sample:
    """A degraded photograph on disk."""

    path: Path
    task: str
    title: str


def make_samples(folder: Path, tasks: Collection[str]) -> list[Sample]:
    """Write the samples of these tasks."""
    chosen: list[tuple[str, str, str, Callable[[Image], Image]]] = [
        ("deblur", "chelsea", "blurred cat", _blur),
        ("deblur", "china", "blurred palace", _blur),
        ("dehaze", "china", "hazy palace", _haze),
        ("derain", "chelsea", "rainy cat", _rain),
    ]
    samples = []
    for task, name, title, degrade in chosen:
        if task in tasks:
            sample = Sample(folder / f"{title.replace(' ', '_')}.png", task, title)
            PillowImage.fromarray(degrade(photograph(name)())).save(sample.path)
            samples.append(sample)
    return samples


def photograph(name: str) -> Photograph:
    """Find one of the test photographs, which no training has seen."""
    return next(one for one in PHOTOGRAPHS if one.name == name)


def credit() -> str:
    """Say whose photographs they are, as their licences ask for."""
    used = (photograph(name) for name in ("chelsea", "china"))
    return "; ".join(f"{one.name} by {one.author} ({one.licence})" for one in used)


def _blur(image: Image) -> Image:
    """Shake the camera while the shutter is open."""
    height, width = image.shape[:2]
    middle = np.array([width, height]) / 2
    camera = draw_camera(np.random.default_rng(3), 1.0, FRAMES // 2, max(middle))
    frames = []
    for moment in range(FRAMES):
        pose = camera.view.at(moment)
        around_middle = np.column_stack([pose.linear, pose.shift + middle - pose.linear @ middle])
        warped = cv2.warpAffine(
            image, around_middle, (width, height),
            flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT_101,
        )  # fmt: skip
        frames.append(np.asarray(warped, np.uint8))
    [(_, blurred)] = average_windows(frames, (FRAMES,), "linear")
    return blurred


def _haze(image: Image) -> Image:
    """Let what is higher in the picture be farther away."""
    height, width = image.shape[:2]
    depth = np.repeat(np.linspace(1, 0.2, height, dtype=np.float32)[:, None], width, axis=1)
    return make_hazy(image, depth, HazeParameters(), 0.5, np.random.default_rng(0))


def _rain(image: Image) -> Image:
    return make_rainy(image, RainParameters(), 0.4, np.random.default_rng(0))
