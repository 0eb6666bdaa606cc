"""Choose the device, and move images to it and back."""

import platform
from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from idemnet.errors import BadInputError
from idemnet.imaging.image import Image


def choose_device(asked: str) -> str:
    """Return the device to compute on.

    Raises:
        BadInputError: If the requested device is not available.
    """
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    there["cpu"] = True
    if asked == "auto":
        return next(device for device, is_there in there.items() if is_there)
    if not there[asked]:
        found = ", ".join(device for device, is_there in there.items() if is_there)
        raise BadInputError(f"device = '{asked}' is not available, this machine has: {found}")
    return asked


def name_device(device: str) -> str:
    """Describe the device, to put times into context."""
    if device == "cuda":
        return torch.cuda.get_device_name()
    processor = platform.processor() or platform.machine()
    if device != "cpu":
        return f"{processor} ({device})"
    instructions = torch.backends.cpu.get_cpu_capability()
    return f"{processor} ({instructions}), {torch.get_num_threads()} threads"


def training_dtype(mixed_precision: str, device: str) -> torch.dtype:
    """Return the dtype of `mixed_precision` (TrainParameters) on a device."""
    if mixed_precision != "auto":
        named = {"bf16": torch.bfloat16, "fp16": torch.float16, "off": torch.float32}
        return named[mixed_precision]
    if device == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    return torch.bfloat16 if device == "cpu" and has_bfloat16() else torch.float32


def has_bfloat16() -> bool:
    """Return whether this CPU has bfloat16 instructions; otherwise it is emulated slowly."""
    found = torch.cpu.get_capabilities()
    return bool(found.get("avx512_bf16") or found.get("amx_bf16"))


Precision = Literal["float32", "bfloat16"]


def restoring_precision(model: nn.Module, device: str) -> Precision:
    """Return the dtype for 8-bit pictures: bfloat16 if network and CPU support it."""
    can = getattr(model, "restores_in_bfloat16", False)
    return "bfloat16" if can and device == "cpu" and has_bfloat16() else "float32"


def synchronise(device: str) -> None:
    """Wait for all pending operations of the device."""
    if device == "cuda":
        torch.cuda.synchronize()
    elif device == "mps":
        torch.mps.synchronize()


def to_tensor(images: Sequence[Image], device: str) -> Tensor:
    """Return (N, 3, H, W) in 0..1."""
    stacked = torch.from_numpy(np.stack(images)).to(device)
    return stacked.permute(0, 3, 1, 2).float() / 255


def to_image(tensor: Tensor) -> Image:
    """Round (3, H, W) in 0..1 to 8 bits."""
    image: Image = _to_8_bits(tensor).byte().permute(1, 2, 0).cpu().numpy()
    return image


def round_to_8_bits(tensor: Tensor) -> Tensor:
    """Round values in 0..1 as writing and reading an 8-bit file does."""
    return _to_8_bits(tensor) / 255


def _to_8_bits(tensor: Tensor) -> Tensor:
    return (tensor.clamp(0, 1) * 255).round()
