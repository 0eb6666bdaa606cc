"""Short films of scenes that never were: a hand-held camera, things that move, and their depth.

A scene is a background with one to three things before it. The mean of consecutive frames is
blurred as real pictures are: differently in each place, and with things hiding what is behind them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from idemnet.imaging.composition import Scene, Thing, Values, draw_scene
from idemnet.imaging.image import Image, LazyImage
from idemnet.imaging.motion import Camera
from idemnet.parameters.source import SceneParameters


def render_frames(
    scene: SceneParameters, split: str, number: int, photographs: Sequence[LazyImage]
) -> Iterator[Image]:
    """Film the scene with this number, frame by frame; the same arguments give the same bytes.

    `photographs` are those of this split; nothing is drawn before the first frame is asked for.
    """
    drawn = draw_scene(scene, split, number, photographs)
    for moment in range(scene.frames):
        yield _film(drawn, moment)


def render_depth(
    scene: SceneParameters, split: str, number: int, photographs: Sequence[LazyImage]
) -> Values:
    """Depth at the middle frame (`frames // 2`) of the scene with this number.

    The unit is the distance of the farthest background: 1 is far, towards 0 is near. Along the edge
    of a thing, depth mixes as the colours do.
    """
    drawn = draw_scene(scene, split, number, photographs)
    depth = drawn.depth.copy()
    for thing in drawn.things:
        placed = _place(thing, drawn.camera, scene.frames // 2, depth.shape)
        part = depth[placed.region]
        part += (thing.depth - part) * placed.warp(thing.matte, cv2.BORDER_CONSTANT)
    return depth


def _film(scene: Scene, moment: float) -> Image:
    frame = _film_background(scene, moment).astype(np.float32)
    for thing in scene.things:
        placed = _place(thing, scene.camera, moment, frame.shape)
        part = frame[placed.region]
        matte = placed.warp(thing.matte, cv2.BORDER_CONSTANT)[..., None]
        part += (placed.warp(thing.texture, cv2.BORDER_REFLECT_101) - part) * matte
    return np.round(frame).astype(np.uint8)


def _film_background(scene: Scene, moment: float) -> Image:
    """Look up each pixel of the frame in the background; beyond its edges it goes on mirrored."""
    height, width = scene.depth.shape
    view, sway = scene.camera.view.at(moment), scene.camera.sway_at(moment)
    y, x = np.mgrid[:height, :width].astype(np.float32)
    x -= np.float32(width / 2 + view.shift[0]) + np.float32(sway[0]) / scene.depth
    y -= np.float32(height / 2 + view.shift[1]) + np.float32(sway[1]) / scene.depth
    (a, b), (c, d) = np.linalg.inv(view.linear).astype(np.float32)
    rows, columns = scene.background.shape[:2]
    across, down = a * x + b * y + np.float32(columns / 2), c * x + d * y + np.float32(rows / 2)
    picture = cv2.remap(
        scene.background, across, down, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT_101
    )
    return np.asarray(picture, np.uint8)


@dataclass(frozen=True)
class Placed:
    """Where a thing is in one frame."""

    region: tuple[slice, slice]
    """Of the frame: rows and columns that the thing may cover; empty when it is outside."""
    matrix: NDArray[np.float64]
    """2 x 3, from pixels of the texture to pixels of the region."""

    def warp(self, picture: Image | Values, border: int) -> NDArray[np.float32]:
        rows, columns = self.region
        size = columns.stop - columns.start, rows.stop - rows.start
        if 0 in size:
            return np.zeros((size[1], size[0], *picture.shape[2:]), np.float32)
        # A matte has nothing to sharpen, and cubic interpolation would leave 0..1.
        method = cv2.INTER_LINEAR if picture.ndim == 2 else cv2.INTER_CUBIC
        warped = cv2.warpAffine(picture, self.matrix, size, flags=method, borderMode=border)
        return np.asarray(warped, np.float32)


def _place(thing: Thing, camera: Camera, moment: float, shape: tuple[int, ...]) -> Placed:
    view, pose = camera.view.at(moment), thing.path.at(moment)
    middle = np.array([shape[1], shape[0]]) / 2
    centre = middle + view.linear @ pose.shift + view.shift + camera.sway_at(moment) / thing.depth
    linear = view.linear @ pose.linear
    half = np.array([thing.matte.shape[1], thing.matte.shape[0]]) / 2
    reach = float(np.hypot(*half)) * view.scale * pose.scale
    left, top = np.clip(np.floor(centre - reach), 0, shape[1::-1]).astype(int)
    right, bottom = np.clip(np.ceil(centre + reach), 0, shape[1::-1]).astype(int)
    origin = centre - linear @ half - (left, top)
    region = slice(int(top), int(bottom)), slice(int(left), int(right))
    return Placed(region, np.column_stack([linear, origin]))
