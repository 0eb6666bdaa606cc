"""Export networks as ONNX or pt2 programs that run without this package.

A program takes `image`, (N, 3, H, W) of any size, RGB from 0 to 1, and returns `restored`, not
clipped, as the network does.
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
"""Largest allowed difference to the network; a fortieth of one 8-bit step."""


class Exported(NamedTuple):
    content: bytes
    difference: float
    """Largest difference to the network that was found."""


def export_network(network: nn.Module, kind: Format, about: Mapping[str, str]) -> Exported:
    """Export a network and verify the program on images of several sizes.

    Args:
        network: Network on the CPU, in evaluation mode.
        kind: Format of the program.
        about: Metadata stored in the program.

    Raises:
        BadInputError: If the program's results differ, or packages are missing.
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
"""Batch, height and width. All exceed the size that networks pad the smallest images to, at most 64
pixels (DMPHN on squares of 4): pt2 rejects images that are padded to a single square."""


@torch.no_grad()
def compare(network: nn.Module, program: Program, sizes: list[tuple[int, int, int]]) -> float:
    """Return the largest difference between the results of a network and a program.

    Raises:
        BadInputError: If it exceeds TOLERANCE.
    """
    generator = torch.Generator().manual_seed(0)
    largest = 0.0
    for count, height, width in sizes:
        image = torch.rand(count, 3, height, width, generator=generator)
        difference = (program(image) - network(image)).abs().max().item()
        if not difference <= TOLERANCE:  # also true for NaN
            raise BadInputError(
                f"the exported program differs from the network by {difference:.2g} on images of "
                f"{height}x{width}, more than {TOLERANCE:g}: nothing was written"
            )
        largest = max(largest, difference)
    return largest


def _export_onnx(network: nn.Module, about: Mapping[str, str]) -> bytes:
    if not all(find_spec(name) for name in ("onnx", "onnxscript", "onnxruntime")):
        raise BadInputError("exporting to ONNX needs more packages: pip install 'idemnet[export]'")
    program = torch.onnx.export(
        network, (_example(),), dynamo=True, verbose=False,
        dynamic_shapes={"image": {0: "batch", 2: "height", 3: "width"}},
        input_names=["image"], output_names=["restored"],
    )  # fmt: skip
    if program is None:
        raise RuntimeError("torch.onnx returned no program")
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
    """Return two images of odd size: the exporter may treat 1, or a fitting size, as constant."""
    return torch.zeros(2, 3, 75, 83)


@contextmanager
def _silence() -> Iterator[None]:
    """Silence the exporters' own output."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
