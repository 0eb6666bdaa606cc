"""Render synthetic sequences: a hand-held camera, moving objects, and their depth.

A scene is a background with one to three objects in front of it. The mean of consecutive frames is
blurred like real pictures: spatially varying, with occlusions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from idemnet.imaging.composition import MovingObject, Scene, Values, draw_scene
from idemnet.imaging.image import Image, LazyImage
from idemnet.imaging.motion import Camera
from idemnet.parameters.source import SceneParameters


def render_frames(
    scene: SceneParameters, split: str, number: int, photographs: Sequence[LazyImage]
) -> Iterator[Image]:
    """Render a scene frame by frame; the same arguments give the same bytes.

    `photographs` are those of this split; nothing is drawn before the first frame is requested.
    """
    drawn = draw_scene(scene, split, number, photographs)
    for moment in range(scene.frames):
        yield _film(drawn, moment)


def render_depth(
    scene: SceneParameters, split: str, number: int, photographs: Sequence[LazyImage]
) -> Values:
    """Render the depth of a scene's middle frame (`frames // 2`).

    The unit is the distance of the farthest background: 1 is far, 0 is near. Along the edge of an
    object, depth is blended like the colours.
    """
    drawn = draw_scene(scene, split, number, photographs)
    depth = drawn.depth.copy()
    for item in drawn.objects:
        placed = _place(item, drawn.camera, scene.frames // 2, depth.shape)
        part = depth[placed.region]
        part += (item.depth - part) * placed.warp(item.matte, cv2.BORDER_CONSTANT)
    return depth


def _film(scene: Scene, moment: float) -> Image:
    frame = _film_background(scene, moment).astype(np.float32)
    for item in scene.objects:
        placed = _place(item, scene.camera, moment, frame.shape)
        part = frame[placed.region]
        matte = placed.warp(item.matte, cv2.BORDER_CONSTANT)[..., None]
        part += (placed.warp(item.texture, cv2.BORDER_REFLECT_101) - part) * matte
    return np.round(frame).astype(np.uint8)


def _film_background(scene: Scene, moment: float) -> Image:
    """Look up each pixel of the frame in the background, which is mirrored at its edges."""
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
class PlacedObject:
    """Position of an object in one frame."""

    region: tuple[slice, slice]
    """Rows and columns of the frame that it may cover; empty if it is outside."""
    matrix: NDArray[np.float64]
    """2 x 3 affine matrix from texture to region, in pixels."""

    def warp(self, picture: Image | Values, border: int) -> NDArray[np.float32]:
        rows, columns = self.region
        size = columns.stop - columns.start, rows.stop - rows.start
        if 0 in size:
            return np.zeros((size[1], size[0], *picture.shape[2:]), np.float32)
        # Cubic interpolation would take a matte out of 0..1.
        method = cv2.INTER_LINEAR if picture.ndim == 2 else cv2.INTER_CUBIC
        warped = cv2.warpAffine(picture, self.matrix, size, flags=method, borderMode=border)
        return np.asarray(warped, np.float32)


def _place(
    item: MovingObject, camera: Camera, moment: float, shape: tuple[int, ...]
) -> PlacedObject:
    view, pose = camera.view.at(moment), item.path.at(moment)
    middle = np.array([shape[1], shape[0]]) / 2
    centre = middle + view.linear @ pose.shift + view.shift + camera.sway_at(moment) / item.depth
    linear = view.linear @ pose.linear
    half = np.array([item.matte.shape[1], item.matte.shape[0]]) / 2
    reach = float(np.hypot(*half)) * view.scale * pose.scale
    left, top = np.clip(np.floor(centre - reach), 0, shape[1::-1]).astype(int)
    right, bottom = np.clip(np.ceil(centre + reach), 0, shape[1::-1]).astype(int)
    origin = centre - linear @ half - (left, top)
    region = slice(int(top), int(bottom)), slice(int(left), int(right))
    return PlacedObject(region, np.column_stack([linear, origin]))
