"""Where networks compute, and how images get there and back."""

import platform
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from idemnet.errors import BadInputError
from idemnet.imaging.image import Image


def choose_device(asked: str) -> str:
    """Return the device to compute on.

    Raises:
        BadInputError: If one is asked for that is not there.
    """
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    there["cpu"] = True
    if asked == "auto":
        return next(device for device, is_there in there.items() if is_there)
    if not there[asked]:
        found = ", ".join(device for device, is_there in there.items() if is_there)
        raise BadInputError(f"device = '{asked}' is not on this machine, which has: {found}")
    return asked


def name_device(device: str) -> str:
    """Describe the device, for people who compare times."""
    if device == "cuda":
        return torch.cuda.get_device_name()
    processor = platform.processor() or platform.machine()
    if device != "cpu":
        return f"{processor} ({device})"
    instructions = torch.backends.cpu.get_cpu_capability()
    return f"{processor} ({instructions}), {torch.get_num_threads()} threads"


def training_dtype(mixed_precision: str, device: str) -> torch.dtype:
    """Return the type that `mixed_precision` (TrainParameters) computes in on a device."""
    if mixed_precision != "auto":
        named = {"bf16": torch.bfloat16, "fp16": torch.float16, "off": torch.float32}
        return named[mixed_precision]
    if device == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    return torch.bfloat16 if device == "cpu" and has_bfloat16() else torch.float32


def has_bfloat16() -> bool:
    """Return whether this CPU has instructions for bfloat16; elsewhere it is emulated, slowly."""
    found = torch.cpu.get_capabilities()
    return bool(found.get("avx512_bf16") or found.get("amx_bf16"))


def synchronise(device: str) -> None:
    """Wait until everything that was asked of the device is done."""
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
    image: Image = (tensor.clamp(0, 1) * 255).round().byte().permute(1, 2, 0).cpu().numpy()
    return image
