"""The deep multi-patch hierarchical network, DMPHN (Zhang et al., CVPR 2019), and its stacks.

Every level has its own encoder and decoder and cuts the image into a grid of patches. From the
finest grid to the whole image, a level's residual is added to the next level's input, and its
features to the next level's features.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from idemnet.models.blocks import ResidualBlock, conv, deconv, shuffles
from idemnet.models.padding import crop, pad_to_multiple
from idemnet.parameters.network import DMPHNParameters

Grid = tuple[int, int]
"""Rows and columns of patches."""
GRIDS: tuple[Grid, ...] = ((1, 1), (2, 1), (2, 2), (4, 2))
"""Grids of levels 1 to 4; stacks have levels 1 to 3."""


class Encoder(nn.Sequential):
    """Maps a patch to features at a quarter of its height and width."""

    def __init__(self, image_channels: int, width: int) -> None:
        super().__init__(
            conv(image_channels, width), *_residual_blocks(width),
            conv(width, 2 * width, stride=2), *_residual_blocks(2 * width),
            conv(2 * width, 4 * width, stride=2), *_residual_blocks(4 * width),
        )  # fmt: skip


class Decoder(nn.Sequential):
    """Maps features to a patch, without skip connections."""

    def __init__(self, image_channels: int, width: int) -> None:
        super().__init__(
            *_residual_blocks(4 * width), deconv(4 * width, 2 * width),
            *_residual_blocks(2 * width), deconv(2 * width, width),
            *_residual_blocks(width), conv(width, image_channels),
        )  # fmt: skip


class Level(nn.Module):
    """One level: encodes on its own grid of patches, decodes on that of the next coarser level."""

    def __init__(self, image_channels: int, width: int, grid: Grid, coarser: Grid) -> None:
        super().__init__()
        self.grid, self.coarser = grid, coarser
        self.encoder = Encoder(image_channels, width)
        self.decoder = Decoder(image_channels, width)

    def forward(self, image: Tensor, features: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Add the image's features to the given ones; return their decoded image and the sum."""
        encoded = sum(features, patchwise(self.encoder, image, self.grid))
        return patchwise(self.decoder, encoded, self.coarser), encoded


class DMPHN(nn.Module):
    """DMPHN 1-2-4-8 with 7,232,524 parameters; Stack(4)-DMPHN, of levels 1-2-4, with 21,697,572.

    Images are (N, 3, H, W) in [0, 1] of any size; results are not clamped. Inside they are centred,
    and the last level returns the image itself, not a residual.
    """

    checkpoint_iterations = False
    """In training, keep only activations between levels and recompute the rest in the backward
    pass."""

    def __init__(self, arguments: DMPHNParameters) -> None:
        super().__init__()
        downscale, residual_scale = arguments.downscale, arguments.residual_scale
        self.downscale = downscale
        self.gives_residual = residual_scale is not None
        self.unshuffle, self.shuffle = shuffles(downscale)
        grids = GRIDS[: count_levels(arguments.stack)]
        self.finest = grids[-1]
        self.stacks = nn.ModuleList(
            nn.ModuleList(
                Level(3 * downscale**2, arguments.width, grid, coarser)
                for grid, coarser in zip(grids, (grids[0], *grids), strict=False)
            )
            for _ in range(arguments.stack)
        )
        self.apply(_initialise)
        if residual_scale is not None:
            with torch.no_grad():
                for levels in self.stacks:
                    levels[0].decoder[-1].weight.mul_(residual_scale)  # type: ignore[index]

    def forward(self, image: Tensor) -> Tensor:
        """Restore images."""
        return self.iterate(image)[-1]

    def iterate(self, image: Tensor) -> list[Tensor]:
        """Return the images after each stack; the last one is the restored image."""
        height, width = image.shape[-2:]
        rows, columns = (4 * patches * self.downscale for patches in self.finest)
        current = self.unshuffle(pad_to_multiple(image, rows, columns)) - 0.5
        outputs: list[Tensor] = []
        features: list[Tensor] = []
        for levels in self.stacks:
            output, features = self._restore(levels, current, features, outputs[:1])
            current = current + output if self.gives_residual else output
            outputs.append(current)
        return [crop(self.shuffle(output + 0.5), height, width) for output in outputs]

    def _restore(
        self, levels: nn.Module, image: Tensor, before: list[Tensor], first: list[Tensor]
    ) -> tuple[Tensor, list[Tensor]]:
        """Run one stack's levels, finest first.

        Args:
            levels: Levels of the stack, coarsest first.
            image: Input image.
            before: Features of the previous stack by level; None for the first stack.
            first: Result of the first stack, added to the residual of level 1; None for itself.
        """
        kept: list[Tensor] = []
        output = torch.zeros_like(image)
        for number, level in reversed(list(enumerate(levels.children()))):
            joined = sum(first, output) if number == 0 else output
            joining = [*kept[-1:], *before[len(kept) : len(kept) + 1]]
            output, features = self._run(level, image + joined, joining)
            kept.append(features)
        return output, kept

    def _run(self, level: nn.Module, image: Tensor, features: list[Tensor]) -> tuple[Tensor, ...]:
        if self.checkpoint_iterations and torch.is_grad_enabled():
            return checkpoint(  # type: ignore[no-any-return]
                level, image, features, use_reentrant=False, preserve_rng_state=False
            )
        return level(image, features)  # type: ignore[no-any-return]


def count_levels(stack: int) -> int:
    """Return four levels for a single network (1-2-4-8), three in a stack (1-2-4)."""
    return 4 if stack == 1 else 3


def patchwise(layers: Callable[[Tensor], Tensor], image: Tensor, grid: Grid) -> Tensor:
    """Apply layers to each patch of a grid separately, and join the results."""
    if grid == (1, 1):
        return layers(image)
    rows, columns = grid
    # Not chunk: for an exporter, its number of parts depends on the size.
    cut = [patch for row in image.tensor_split(rows, -2) for patch in row.tensor_split(columns, -1)]
    done = layers(torch.cat(cut)).tensor_split(rows * columns)
    joined = [torch.cat(done[at : at + columns], -1) for at in range(0, len(done), columns)]
    return torch.cat(joined, -2)


# The released weights: one file of tensors for each encoder and each decoder.

ENCODER_LAYERS = (
    "layer1", "layer2.0", "layer2.2", "layer3.0", "layer3.2",
    "layer5", "layer6.0", "layer6.2", "layer7.0", "layer7.2",
    "layer9", "layer10.0", "layer10.2", "layer11.0", "layer11.2",
)  # fmt: skip
DECODER_LAYERS = (
    "layer13.0", "layer13.2", "layer14.0", "layer14.2", "layer16",
    "layer17.0", "layer17.2", "layer18.0", "layer18.2", "layer20",
    "layer21.0", "layer21.2", "layer22.0", "layer22.2", "layer24",
)  # fmt: skip


def released_names(stack: int) -> dict[str, dict[str, str]]:
    """Return the mapping of tensor names from each released file to ours."""
    parts: Mapping[str, tuple[Sequence[str], nn.Module]] = {
        "encoder": (ENCODER_LAYERS, Encoder(1, 1)),
        "decoder": (DECODER_LAYERS, Decoder(1, 1)),
    }
    names: dict[str, dict[str, str]] = {}
    for number in range(stack):
        for level in range(count_levels(stack)):
            for part, (layers, module) in parts.items():
                place = f"lv{level + 1}" if stack == 1 else f"s{number + 1}_lv{level + 1}"
                theirs = (f"{layer}.{kind}" for layer in layers for kind in ("weight", "bias"))
                ours = (name for name, _ in module.named_parameters())
                names[f"{part}_{place}.pkl"] = {
                    old: f"stacks.{number}.{level}.{part}.{new}"
                    for old, new in zip(theirs, ours, strict=True)
                }
    return names


def _residual_blocks(channels: int) -> Iterator[ResidualBlock]:
    return (ResidualBlock(channels) for _ in range(2))


def _initialise(module: nn.Module) -> None:
    """Initialise as DMPHN's authors do: half of He's normal weights, by fan-out; zero biases."""
    if isinstance(module, nn.Conv2d | nn.ConvTranspose2d):
        fan_out = module.kernel_size[0] * module.kernel_size[1] * module.out_channels
        nn.init.normal_(module.weight, std=0.5 * math.sqrt(2 / fan_out))
        if module.bias is not None:
            nn.init.zeros_(module.bias)
