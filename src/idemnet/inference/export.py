"""Networks as programs that run without this package: ONNX, and torch's own pt2.

A program takes `image`, (N, 3, H, W) of any size, RGB from 0 to 1, and gives `restored`: as the
network does, not clipped.
"""

import io
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.export import Dim

from idemnet.errors import BadInputError

Format = Literal["onnx", "pt2"]
Program = Callable[[Tensor], Tensor]

TOLERANCE = 1e-4
"""Largest difference to the network; a fortieth of one step of 8 bits."""


class Exported(NamedTuple):
    content: bytes
    difference: float
    """To the network, the largest of all that were found."""


def export_network(network: nn.Module, kind: Format, about: Mapping[str, str]) -> Exported:
    """Export a network, and try the program on images of several sizes.

    Args:
        network: On the CPU, ready to restore.
        kind: What to make of it.
        about: What the program carries beside the network, as text.

    Raises:
        BadInputError: If the program does not do what the network does, or packages are missing.
    """
    network = network.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
    with _silence():
        if kind == "onnx":
            content = _export_onnx(network, about)
            difference = compare(network, _load_onnx(content), [(1, 1, 1), *SIZES])
        else:
            content = _export_pt2(network, about)
            difference = compare(network, _load_pt2(content), SIZES)
    return Exported(content, difference)


SIZES = [(1, 96, 96), (2, 97, 131), (1, 200, 70)]
"""Images, height and width. All are larger than what networks pad the smallest images to, 64 pixels
at most (DMPHN on squares of 4): pt2 takes no image that is padded to just one of its squares."""


@torch.no_grad()
def compare(network: nn.Module, program: Program, sizes: list[tuple[int, int, int]]) -> float:
    """Return the largest difference between what a network and a program restore.

    Raises:
        BadInputError: If it is more than rounding.
    """
    generator = torch.Generator().manual_seed(0)
    largest = 0.0
    for count, height, width in sizes:
        image = torch.rand(count, 3, height, width, generator=generator)
        difference = (program(image) - network(image)).abs().max().item()
        if not difference <= TOLERANCE:  # also if it is not a number
            raise BadInputError(
                f"the exported program differs from the network by {difference:.2g} on images of "
                f"{height}x{width}, more than {TOLERANCE:g}: nothing was written"
            )
        largest = max(largest, difference)
    return largest


def _export_onnx(network: nn.Module, about: Mapping[str, str]) -> bytes:
    if not all(find_spec(name) for name in ("onnx", "onnxscript", "onnxruntime")):
        raise BadInputError("ONNX needs further packages: pip install 'idemnet[export]'")
    program = torch.onnx.export(
        network, (_example(),), dynamo=True, verbose=False,
        dynamic_shapes={"image": {0: "batch", 2: "height", 3: "width"}},
        input_names=["image"], output_names=["restored"],
    )  # fmt: skip
    if program is None:
        raise RuntimeError("torch gave no program")
    model = program.model_proto
    for key, value in about.items():
        model.metadata_props.add(key=key, value=value)
    content: bytes = model.SerializeToString()
    return content


def _load_onnx(content: bytes) -> Program:
    import onnxruntime  # noqa: PLC0415  # is an extra

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return lambda image: torch.from_numpy(session.run(["restored"], {"image": image.numpy()})[0])


def _export_pt2(network: nn.Module, about: Mapping[str, str]) -> bytes:
    sides = {0: Dim.DYNAMIC, 2: Dim.DYNAMIC, 3: Dim.DYNAMIC}
    program = torch.export.export(network, (_example(),), dynamic_shapes={"image": sides})
    target = io.BytesIO()
    torch.export.save(program, target, extra_files=dict(about))
    return target.getvalue()


def _load_pt2(content: bytes) -> Program:
    return torch.export.load(io.BytesIO(content)).module()


def _example() -> Tensor:
    """Two images, and odd sides: what is 1, or fits as it is, might be taken for a constant."""
    return torch.zeros(2, 3, 75, 83)


@contextmanager
def _silence() -> Iterator[None]:
    """Keep to ourselves what exporters say about themselves."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
