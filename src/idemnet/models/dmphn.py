"""The deep multi-patch hierarchical network, DMPHN (Zhang et al., CVPR 2019), and its stacks.

Every level has an encoder and a decoder of its own and cuts the image into a grid of patches. From
the finest grid to the whole image, a level's residual is added to what the next one encodes, and
its features to what the next one decodes.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from idemnet.models.blocks import ResidualBlock, conv, deconv, shuffles
from idemnet.models.padding import crop, pad_to_multiple

Grid = tuple[int, int]
"""Rows and columns of patches."""
GRIDS: tuple[Grid, ...] = ((1, 1), (2, 1), (2, 2), (4, 2))
"""Of levels 1 to 4; a stack of several has levels 1 to 3."""


class Encoder(nn.Sequential):
    """Patch to features of a quarter of its height and width."""

    def __init__(self, image_channels: int, width: int) -> None:
        super().__init__(
            conv(image_channels, width), *_residual_blocks(width),
            conv(width, 2 * width, stride=2), *_residual_blocks(2 * width),
            conv(2 * width, 4 * width, stride=2), *_residual_blocks(4 * width),
        )  # fmt: skip


class Decoder(nn.Sequential):
    """Features to a patch; there are no skip connections."""

    def __init__(self, image_channels: int, width: int) -> None:
        super().__init__(
            *_residual_blocks(4 * width), deconv(4 * width, 2 * width),
            *_residual_blocks(2 * width), deconv(2 * width, width),
            *_residual_blocks(width), conv(width, image_channels),
        )  # fmt: skip


class Level(nn.Module):
    """One level: encodes on its own grid of patches, decodes on the next coarser level's."""

    def __init__(self, image_channels: int, width: int, grid: Grid, coarser: Grid) -> None:
        super().__init__()
        self.grid, self.coarser = grid, coarser
        self.encoder = Encoder(image_channels, width)
        self.decoder = Decoder(image_channels, width)

    def forward(self, image: Tensor, features: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Add the image's features to those given; return what they decode to, and the sum."""
        encoded = sum(features, patchwise(self.encoder, image, self.grid))
        return patchwise(self.decoder, encoded, self.coarser), encoded


class DMPHN(nn.Module):
    """DMPHN 1-2-4-8 with 7,232,524 parameters; Stack(4)-DMPHN, of levels 1-2-4, with 21,697,572.

    Images are (N, 3, H, W) in [0, 1] of any size; results are not clamped. Inside they are centred,
    and the last level gives the image itself, not a residual.

    Args:
        stack: One network of four levels, or as many networks of three levels in a row, each of
            which restores the last one's image.
        width: Channels at full resolution; twice and four times as many at half and a quarter.
        downscale: Work on squares of this many pixels as one, with as many more image channels; 2
            costs about a quarter, for machines without a GPU.
        residual_scale: Not DMPHN's own, for small trainings: have level 1 give a residual to the
            image, and multiply its last convolution's initial weights by this factor. Through a
            decoder without skips an image is learnt slowly; so 0.01 starts near the identity.
        checkpoint_iterations: In training, keep only what levels hand to each other and compute the
            rest again when the gradient needs it.
    """

    def __init__(
        self,
        stack: int = 1,
        width: int = 32,
        *,
        downscale: int = 1,
        residual_scale: float | None = None,
        checkpoint_iterations: bool = False,
    ) -> None:
        super().__init__()
        if min(stack, width, downscale) < 1:
            raise ValueError("stack, width and downscale must be at least 1")
        self.downscale = downscale
        self.gives_residual = residual_scale is not None
        self.checkpoint_iterations = checkpoint_iterations
        self.unshuffle, self.shuffle = shuffles(downscale)
        grids = GRIDS[: count_levels(stack)]
        self.finest = grids[-1]
        self.stacks = nn.ModuleList(
            nn.ModuleList(
                Level(3 * downscale**2, width, grid, coarser)
                for grid, coarser in zip(grids, (grids[0], *grids), strict=False)
            )
            for _ in range(stack)
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
        """Go through one stack's levels, finest first.

        Args:
            levels: Of the stack, coarsest first.
            image: What it restores.
            before: The features of the stack before, level by level; none for the first stack.
            first: The first stack's image, which joins the residual for level 1; none for itself.
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
    """Four levels alone (1-2-4-8), three in a stack of several (1-2-4)."""
    return 4 if stack == 1 else 3


def patchwise(layers: Callable[[Tensor], Tensor], image: Tensor, grid: Grid) -> Tensor:
    """Cut into a grid, put each patch through the layers as an image of its own, and join."""
    if grid == (1, 1):
        return layers(image)
    rows, columns = grid
    # Not chunk, whose number of parts an export takes to depend on the size.
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
    """Return for each released file which of its tensors is which of ours."""
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
    """Start as DMPHN's authors do: half of He's normal weights, by outputs; zero biases."""
    if isinstance(module, nn.Conv2d | nn.ConvTranspose2d):
        fan_out = module.kernel_size[0] * module.kernel_size[1] * module.out_channels
        nn.init.normal_(module.weight, std=0.5 * math.sqrt(2 / fan_out))
        if module.bias is not None:
            nn.init.zeros_(module.bias)
