"""The deep idempotent network (section III of the paper), read from top to bottom like its figure.

One light encoder-decoder, its weights shared by all iterations, adds a residual to the image in
each of them. Iterations remember: the decoder's feature maps (eq. 4) and the latent code (eq. 5).
"""

from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from idemnet.models.blocks import GatedBlock, ResidualBlock, conv, deconv, relu, shuffles
from idemnet.models.padding import crop, pad_to_multiple
from idemnet.parameters.network import IdempotentParameters

RecurrenceTap = Literal["residual", "upsample"]
Block = Callable[[int, int], nn.Module]
"""Builds a block for a number of channels at level 1, 2 or 3 (full, half, quarter resolution)."""


class Memory(NamedTuple):
    """State that an iteration passes to the next."""

    features1: Tensor
    """F1 of eq. 4, at the network's full resolution."""
    features2: Tensor
    """F2 of eq. 4, at half of it."""
    code: Tensor
    """h of eq. 5, at a quarter of it."""


class Encoder(nn.Module):
    """Maps an image to a latent code, with the last iteration's feature maps."""

    def __init__(
        self, image_channels: int, width: int, block: Block, *, feature_recurrence: bool
    ) -> None:
        super().__init__()
        self.feature_recurrence = feature_recurrence
        inputs = 2 if feature_recurrence else 1
        self.level1 = nn.Sequential(conv(image_channels, width), block(width, 1), block(width, 1))
        self.down1 = conv(inputs * width, 2 * width, stride=2)
        self.level2 = nn.Sequential(block(2 * width, 2), block(2 * width, 2))
        self.down2 = conv(inputs * 2 * width, 4 * width, stride=2)
        self.level3 = nn.Sequential(block(4 * width, 3), block(4 * width, 3))

    def forward(self, image: Tensor, memory: Memory | None) -> tuple[Tensor, Tensor, Tensor]:
        """Return the features at full and half resolution, and the latent code at a quarter."""
        features1 = self.level1(image)
        recalled = self._recall(features1, memory and memory.features1)
        features2 = self.level2(self.down1(recalled))
        recalled = self._recall(features2, memory and memory.features2)
        return features1, features2, self.level3(self.down2(recalled))

    def _recall(self, features: Tensor, remembered: Tensor | None) -> Tensor:
        if not self.feature_recurrence:
            return features
        # The first iteration has no memory and uses its own features instead, which have the
        # scale that the convolution will see later; zeros would not.
        return torch.cat([features, features if remembered is None else remembered], 1)


class ConvGRU(nn.Module):
    """Latent code recurrence (eq. 5): a convolutional GRU over the codes of iterations."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.gates = conv(2 * channels, 2 * channels)
        self.candidate = conv(2 * channels, channels)

    def forward(self, code: Tensor, hidden: Tensor) -> Tensor:
        """Return the new hidden state; all tensors are (N, C, H, W)."""
        update, reset = self.gates(torch.cat([hidden, code], 1)).sigmoid().chunk(2, 1)
        candidate = self.candidate(torch.cat([reset * hidden, code], 1)).tanh()
        return torch.lerp(hidden, candidate, update)


class CodeRecurrence(nn.Module):
    """A convolution, then the ConvGRU, which starts from zeros."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        # Not in the paper's text, but required by its parameter count.
        self.project = nn.Sequential(conv(channels, channels), relu())
        self.gru = ConvGRU(channels)

    def forward(self, code: Tensor, memory: Memory | None) -> Tensor:
        code = self.project(code)
        hidden: Tensor = self.gru(code, torch.zeros_like(code) if memory is None else memory.code)
        return hidden


class FusingBlock(nn.Module):
    """Skip connection: concatenates the encoder's features, mixes, and adds them."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            conv(2 * channels, 2 * channels), relu(), conv(2 * channels, channels)
        )

    def forward(self, upsampled: Tensor, skipped: Tensor) -> Tensor:
        residual: Tensor = self.body(torch.cat([upsampled, skipped], 1))
        return residual.add_(upsampled)


class Decoder(nn.Module):
    """Maps a latent code to a residual image, and feature maps for the next iteration."""

    def __init__(
        self, image_channels: int, width: int, block: Block, recurrence_tap: RecurrenceTap
    ) -> None:
        super().__init__()
        self.recurrence_tap = recurrence_tap
        self.level3 = nn.Sequential(block(4 * width, 3), block(4 * width, 3))
        self.up2 = deconv(4 * width, 2 * width)
        self.fuse2 = FusingBlock(2 * width)
        self.level2 = block(2 * width, 2)
        self.up1 = deconv(2 * width, width)
        self.fuse1 = FusingBlock(width)
        self.level1 = block(width, 1)
        self.to_image = conv(width, image_channels)

    def forward(self, features1: Tensor, features2: Tensor, code: Tensor) -> tuple[Tensor, Memory]:
        """Decode the encoder's output; return the residual image and the feature maps to keep."""
        upsampled2 = self.up2(self.level3(code))
        decoded2 = self.level2(self.fuse2(upsampled2, features2))
        upsampled1 = self.up1(decoded2)
        decoded1 = self.level1(self.fuse1(upsampled1, features1))
        residual = self.to_image(decoded1)
        if self.recurrence_tap == "residual":
            return residual, Memory(decoded1, decoded2, code)
        return residual, Memory(upsampled1, upsampled2, code)


class IdempotentNet(nn.Module):
    """The paper's network: 3,117,411 parameters with its settings, which are the defaults.

    Images are (N, 3, H, W) in [0, 1] of any size; results are not clamped. Calls keep
    no state, and the images of a batch are independent.
    """

    checkpoint_iterations = False
    """In training, keep only images and memories between iterations and recompute the rest in the
    backward pass."""

    def __init__(self, arguments: IdempotentParameters) -> None:
        super().__init__()
        downscale, width = arguments.downscale, arguments.width
        self.iterations = arguments.iterations
        self.downscale = downscale
        self.unshuffle, self.shuffle = shuffles(downscale)
        channels = 3 * downscale**2
        cell = max(1, arguments.attention_window // (8 * downscale))
        self.attention_cell = 4 * downscale * cell if arguments.block == "gated" else 1
        """Side of the attention cells in image pixels; 1 without attention."""
        build = _block_builder(arguments.block, cell)
        remember = arguments.feature_recurrence
        self.encoder = Encoder(channels, width, build, feature_recurrence=remember)
        self.recurrence = CodeRecurrence(4 * width) if arguments.code_recurrence else None
        self.decoder = Decoder(channels, width, build, arguments.recurrence_tap)
        self.apply(_initialise)
        with torch.no_grad():
            self.decoder.to_image.weight.mul_(arguments.residual_scale)

    def forward(self, image: Tensor) -> Tensor:
        """Restore images."""
        return self.iterate(image)[-1]

    def iterate(self, image: Tensor) -> list[Tensor]:
        """Return the images after each iteration; the last one is the restored image."""
        height, width = image.shape[-2:]
        current = self.unshuffle(pad_to_multiple(image, 4 * self.downscale))
        memories: list[Memory | None] = [None]  # popped: nothing else holds what a step lets go of
        step: Callable[[Tensor, Memory | None], tuple[Tensor, Memory]] = self._step
        if self.checkpoint_iterations and torch.is_grad_enabled():
            step = partial(checkpoint, step, use_reentrant=False, preserve_rng_state=False)
        images = []
        for _ in range(self.iterations):
            current, memory = step(current, memories.pop())
            memories.append(memory)
            del memory
            images.append(crop(self.shuffle(current), height, width))
        return images

    def _step(self, image: Tensor, memory: Memory | None) -> tuple[Tensor, Memory]:
        """Run one iteration (eq. 6); return the new image and memory."""
        features1, features2, code = self.encoder(image - 0.5, memory)
        if self.recurrence is not None:
            code = self.recurrence(code, memory)
        del memory  # the decoder needs most room, and none of it
        residual, memory = self.decoder(features1, features2, code)
        return image + residual, memory


def _block_builder(kind: Literal["residual", "gated"], cell: int) -> Block:
    """Return a block builder; `cell` is the side of an attention cell at level 3."""
    if kind == "residual":
        return lambda channels, _: ResidualBlock(channels)
    return lambda channels, level: GatedBlock(channels, cell << (3 - level))


def _initialise(module: nn.Module) -> None:
    """Use Xavier weights and zero biases; the GRU's two gates are initialised separately.

    Gated blocks keep torch's defaults: Xavier would make depthwise convolutions almost zero.
    """
    if isinstance(module, ConvGRU):
        for gate in module.gates.weight.data.chunk(2):
            nn.init.xavier_uniform_(gate)
    elif isinstance(module, nn.Conv2d | nn.ConvTranspose2d) and module.groups == 1:
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
