"""Restore from Python: `Restorer.load("deblur")(picture)`."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, TypeVar, overload

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image as PillowImage
from pydantic import ValidationError

from idemnet.errors import BadInputError
from idemnet.inference.find_weights import find_weights
from idemnet.inference.network import Network
from idemnet.inference.restore import restore, restore_stepwise
from idemnet.inference.tiling import TileDone, ignore_tiles
from idemnet.inference.weights import TrainedModel, read_weights
from idemnet.parameters.restore import RestoreParameters
from idemnet.system.device import Precision, choose_device, restoring_precision

Picture = TypeVar("Picture", NDArray[Any], PillowImage.Image, torch.Tensor)


@dataclass(frozen=True, repr=False)
class Restorer:
    """A network with its weights, which restores single pictures or lists of them.

    The result has the input's type, shape, depth and transparency. A list may mix sizes and kinds,
    and returns a list.

    | input | shape | values |
    |---|---|---|
    | NumPy array | (H, W), (H, W, 3 or 4), (N, H, W, 3 or 4) | uint8, uint16, floats of 0 to 1 |
    | PIL image | RGB, RGBA, L, LA | 8 bits |
    | torch tensor | (3, H, W), (N, 3, H, W) | floats from 0 to 1 |
    | path of a picture; returns a PIL image | any | rounded to 8 bits |
    """

    card: Mapping[str, Any]
    """Description of the weights: task, architecture, training, scores."""
    model: torch.nn.Module
    how: RestoreParameters
    device: str
    precision: Precision = "float32"
    """Precision for 8-bit pictures: bfloat16 if the CPU has instructions for it, which takes half
    the time. Other pictures, and all scores, use float32."""

    @classmethod
    def load(
        cls,
        weights: str | Path = "deblur",
        *,
        passes: int = 1,
        tile: int = 512,
        tile_overlap: int | None = None,
        memory: int | str | None = None,
        device: str = "auto",
        network: str | None = None,
    ) -> Self:
        """Load weights.

        Args:
            weights: A task (`deblur`, `dehaze`, `derain`), the path of a weights.safetensors or of
                its folder, `hf://OWNER/NAME[@REVISION]` on the Hugging Face Hub, or
                `mlflow:NAME@ALIAS`.
            passes: Number of restorations, each of the previous result; one is enough for an
                idempotent network.
            tile: Pictures with more pixels than a square of this side are restored in tiles.
            tile_overlap: Overlap of tiles in pixels; by default measured, so that seams are
                invisible.
            memory: Memory limit of the process, in bytes or as `2GB`; tiles become as small as
                needed.
            device: `auto`, `cuda`, `mps` or `cpu`.
            network: For weights of an external network, its `package.module:Class`, which is
                imported: pass it only if you trust that code.

        Raises:
            BadInputError: If the weights are not found, or the device is not available.
        """
        tensors, card = read_weights(find_weights(weights))
        if "task" not in card:
            raise BadInputError(f"{weights}: the card does not say which task they are for")
        found = choose_device(device)
        model = Network.of(TrainedModel(tensors, card, ()), network).build(found)
        wanted = {"passes": passes, "tile": tile, "tile_overlap": tile_overlap, "memory": memory}
        try:
            how = RestoreParameters.model_validate(wanted)
        except ValidationError as error:
            fault = error.errors()[0]
            place = " ".join(map(str, fault["loc"]))
            raise BadInputError(f"{place} = {fault['input']!r}: {fault['msg']}") from None
        return cls(card, model, how, found, restoring_precision(model, found))

    def __repr__(self) -> str:
        task, network = self.card.get("task"), self.card.get("architecture")
        return f"Restorer({task}, {network}, passes={self.how.passes}, device={self.device})"

    @overload
    def __call__(self, picture: Picture) -> Picture: ...
    @overload
    def __call__(self, picture: str | Path) -> PillowImage.Image: ...
    @overload
    def __call__(self, picture: list[Picture] | tuple[Picture, ...]) -> list[Picture]: ...
    @overload
    def __call__(self, picture: list[str] | list[Path]) -> list[PillowImage.Image]: ...
    def __call__(self, picture: Any) -> Any:
        """Restore a picture, or several of them.

        Raises:
            BadInputError: If it cannot be restored, with the reason.
        """
        if isinstance(picture, (str, Path)):
            return self._restore_path(Path(picture))
        if isinstance(picture, (list, tuple)):
            return [self(one) for one in picture]
        if isinstance(picture, torch.Tensor):
            return self._restore_tensor(picture)
        if isinstance(picture, PillowImage.Image):
            if picture.mode not in ("RGB", "RGBA", "L", "LA"):
                raise BadInputError(
                    f"pictures of mode {picture.mode} are not supported: convert to RGB first"
                )
            restored = PillowImage.fromarray(self._restore_array(np.asarray(picture)))
            restored.info = picture.info.copy()
            return restored
        if isinstance(picture, np.ndarray):
            return self._restore_array(picture)
        raise BadInputError(
            "a picture must be a NumPy array, a PIL image, a torch tensor, a path or a list of "
            f"them, not {type(picture).__name__}"
        )

    def _restore_path(self, path: Path) -> PillowImage.Image:
        from idemnet.media.read_photo import PhotoFile  # noqa: PLC0415  # needs OpenCV
        from idemnet.media.write_photo import to_pillow  # noqa: PLC0415  # needs OpenCV

        try:
            photo = PhotoFile(path.expanduser(), self.how.memory)()
        except OSError as error:
            raise BadInputError(f"{path}: {error.strerror or error}") from error
        return to_pillow(replace(photo, pixels=self.restore_pixels(photo.pixels)))

    def _restore_tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        _check_size(tensor)
        if tensor.ndim == 4:
            return torch.stack([self._restore_tensor(one) for one in tensor])
        if tensor.ndim != 3 or tensor.shape[0] != 3 or not tensor.is_floating_point():
            raise BadInputError(
                f"a tensor must be (3, H, W) or (N, 3, H, W) of floats, not {tuple(tensor.shape)} "
                f"of {tensor.dtype}"
            )
        pixels = self.restore_pixels(tensor.detach().float().permute(1, 2, 0).cpu().numpy())
        return torch.from_numpy(pixels).permute(2, 0, 1).to(tensor)

    def _restore_array(self, array: NDArray[Any]) -> NDArray[Any]:
        _check_size(array)
        if array.ndim == 4:
            return np.stack([self._restore_array(one) for one in array])
        if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (2, 3, 4)):
            raise BadInputError(
                f"an array must be (H, W), (H, W, 3) or (N, H, W, 3), not {array.shape}"
            )
        if array.dtype not in (np.uint8, np.uint16) and not np.issubdtype(array.dtype, np.floating):
            raise BadInputError(f"values must be uint8, uint16 or floats, not {array.dtype}")
        channels = array.reshape(*array.shape[:2], -1)
        grey = channels.shape[2] < 3
        colours = np.repeat(channels[:, :, :1], 3, axis=2) if grey else channels[:, :, :3]
        restored = self.restore_pixels(colours)
        if grey:
            mean = restored.mean(axis=2, keepdims=True)
            restored = np.rint(mean) if np.issubdtype(array.dtype, np.integer) else mean
        restored = restored.astype(array.dtype, copy=False)
        kept = channels[:, :, restored.shape[2] :]  # transparency
        if kept.size:
            restored = np.concatenate([restored, kept], axis=2)
        return restored.reshape(array.shape)

    def restore_pixels(
        self, pixels: NDArray[Any], tile_done: TileDone = ignore_tiles
    ) -> NDArray[Any]:
        """Restore (H, W, 3) of uint8, uint16 or floats; `tile_done` is called for each tile.

        Raises:
            BadInputError: If it does not fit into the allowed memory, or floats are outside 0 to 1.
        """
        _check_range(pixels)
        precision = self.precision_of(pixels)
        return restore(self.model, pixels, self.how, self.device, tile_done, precision=precision)

    def iterations(
        self, pixels: NDArray[Any], tile_done: TileDone = ignore_tiles
    ) -> list[NDArray[Any]]:
        """Restore (H, W, 3) once; return the picture after each of the network's iterations.

        Raises:
            BadInputError: As `restore_pixels` does.
        """
        _check_range(pixels)
        precision = self.precision_of(pixels)
        return restore_stepwise(
            self.model, pixels, self.how, self.device, tile_done, precision=precision
        )

    def precision_of(self, pixels: NDArray[Any]) -> Precision:
        """Return the precision used for a picture."""
        return self.precision if pixels.dtype == np.uint8 else "float32"


def _check_size(picture: NDArray[Any] | torch.Tensor) -> None:
    """Raise an error for a picture with a zero side, or none in a batch."""
    if 0 in picture.shape:
        kind = "a tensor" if isinstance(picture, torch.Tensor) else "an array"
        raise BadInputError(f"{kind} of shape {tuple(picture.shape)} holds no pixels")


def _check_range(pixels: NDArray[Any]) -> None:
    """Raise an error for floats outside 0 to 1, such as 0 to 255."""
    if pixels.dtype.kind != "f" or not pixels.size:
        return
    lowest, highest = pixels.min(), pixels.max()
    # Non-finite values are rejected later, with their own error.
    if np.isfinite([lowest, highest]).all() and (lowest < 0 or highest > 1):
        raise BadInputError(
            f"floats must be from 0 to 1, these are from {lowest:.6g} to {highest:.6g}: divide "
            "them (by 255?) or clip them, or give uint8"
        )
