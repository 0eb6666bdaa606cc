"""Composition of a scene: a background, one to three moving objects, and a camera."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from idemnet.imaging.image import Image, LazyImage
from idemnet.imaging.motion import DRIFT, Camera, Mover, draw_camera, smooth_path
from idemnet.imaging.textures import PROCEDURAL, palette_of, photograph_texture
from idemnet.parameters.source import SceneParameters

SPLITS = ("train", "validation", "test")
SPEEDS = (0.2, 1.1)
"""Range of camera shake, in pixels per frame, from a steady hand to a running person."""
NEAREST_BACKGROUND = 0.55
"""Depth of the background's near end; all objects are nearer."""
Values = NDArray[np.float32]


@dataclass(frozen=True)
class MovingObject:
    """An object that moves in front of the background."""

    texture: Image
    matte: Values
    """Same size as the texture; 1 inside, 0 outside, smooth at the edge."""
    depth: float
    path: Mover


@dataclass(frozen=True)
class Scene:
    """Everything that is drawn once for a sequence."""

    background: Image
    depth: Values
    """Depth of the background at each pixel of the frame."""
    objects: tuple[MovingObject, ...]
    """Farthest first."""
    camera: Camera


def draw_scene(
    scene: SceneParameters, split: str, number: int, photographs: Sequence[LazyImage]
) -> Scene:
    """Draw all random parts of a scene; the same arguments give the same scene."""
    if split not in SPLITS:
        raise ValueError(f"split must be one of {', '.join(SPLITS)}, not {split!r}")
    if not photographs:
        raise ValueError(f"a scene needs at least one photograph of its split ({split})")
    rng = np.random.default_rng([scene.seed, SPLITS.index(split), number])
    middle = scene.frames // 2
    # Shake is spread evenly over successive numbers, however few scenes there are.
    slowest, fastest = SPEEDS
    shaken = (0.3 + number * 0.6180339887) % 1
    speed = slowest * (fastest / slowest) ** shaken
    camera = draw_camera(rng, speed, middle, reach=0.5 * min(scene.height, scene.width))
    objects = [_draw_object(rng, scene, photographs) for _ in range(rng.integers(1, 4))]
    return Scene(
        background=_draw_background(rng, scene, number, photographs),
        depth=_draw_depth(rng, scene.height, scene.width),
        objects=tuple(sorted(objects, key=lambda item: -item.depth)),
        camera=camera,
    )


def _draw_background(
    rng: np.random.Generator, scene: SceneParameters, number: int, photographs: Sequence[LazyImage]
) -> Image:
    """Draw a background; two of three are photographs, all used equally often."""
    height, width = scene.height + 48, scene.width + 48  # room for the camera to move
    if number % 3 == 2:
        palette = palette_of(rng, photographs[int(rng.integers(len(photographs)))]())
        return PROCEDURAL[number // 3 % len(PROCEDURAL)](rng, height, width, palette)
    photograph = photographs[(number - number // 3) % len(photographs)]()
    return photograph_texture(rng, height, width, photograph)


def _draw_depth(rng: np.random.Generator, height: int, width: int) -> Values:
    """Draw the depth of ground that rises to a horizon, slightly tilted and curved."""
    y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    slope = rng.uniform(-0.3, 0.3) * x - rng.uniform(0.3, 1.0) * y + rng.uniform(-0.4, 0.4) * x * x
    share = (slope - slope.min()) / (slope.max() - slope.min())
    far = rng.uniform(0.85, 1.0)
    return np.asarray(NEAREST_BACKGROUND + (far - NEAREST_BACKGROUND) * share, np.float32)


def _draw_object(
    rng: np.random.Generator, scene: SceneParameters, photographs: Sequence[LazyImage]
) -> MovingObject:
    shorter = min(scene.height, scene.width)
    height, width = np.maximum(9, rng.uniform(0.25, 0.65, size=2) * shorter).astype(int).tolist()
    photograph = photographs[int(rng.integers(len(photographs)))]()
    if rng.random() < 0.6:
        texture = photograph_texture(rng, height, width, photograph)
    else:
        draw = PROCEDURAL[rng.integers(len(PROCEDURAL))]
        texture = draw(rng, height, width, palette_of(rng, photograph))
    matte = _draw_matte(rng, *texture.shape[:2])
    return MovingObject(texture, matte, rng.uniform(0.3, 0.5), _draw_path(rng, scene, width))


def _draw_path(rng: np.random.Generator, scene: SceneParameters, size: int) -> Mover:
    """Draw a path, in view at the middle frame and mostly sideways, as of walking people."""
    middle = scene.frames // 2
    speed = 0.3 * 6 ** rng.random()
    x, y = rng.uniform(-0.4, 0.4, size=2) * (scene.width, scene.height)
    return Mover(
        smooth_path(rng, speed, middle, DRIFT, x),
        smooth_path(rng, 0.4 * speed, middle, DRIFT, y),
        smooth_path(rng, rng.uniform(0, 0.6) * speed / size, middle, DRIFT, rng.normal(0, 0.3)),
        smooth_path(rng, 0.002, middle, DRIFT),
    )


def _draw_matte(rng: np.random.Generator, height: int, width: int) -> Values:
    """Draw a matte: ellipses, blobs, leaves, polygons with round corners."""
    y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    turn = np.arctan2(y, x)
    corners, power = rng.choice([(4, 2.0), (4, 6.0), (3, 4.0), (5, 5.0), (2, 1.2)])
    radius = _rounded_polygon(turn, corners, power)
    wobble = rng.choice([0.0, 0.15])
    for waves in (2, 3, 5):
        radius *= 1 + rng.uniform(0, wobble) * np.cos(waves * turn + rng.uniform(0, 2 * np.pi))
    inside = 1 - np.hypot(x, y) / (0.97 * radius / radius.max())
    steepness = np.hypot(*np.gradient(inside)) + 1e-6
    edge = rng.uniform(1.0, 2.0)  # pixels
    return np.asarray(np.clip(0.5 + inside / steepness / edge, 0, 1), np.float32)


def _rounded_polygon(
    turn: NDArray[np.float64], corners: float, power: float
) -> NDArray[np.float64]:
    """Return the radius of the curve in each direction (Gielis' formula)."""
    quarter = corners * turn / 4
    reach = np.abs(np.cos(quarter)) ** power + np.abs(np.sin(quarter)) ** power
    return np.asarray(reach ** (-1 / power))
