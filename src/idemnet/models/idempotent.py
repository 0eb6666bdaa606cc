"""The deep idempotent network (section III of the paper), read from top to bottom like its figure.

One light encoder-decoder, its weights shared by all iterations, adds a residual to the image in
each of them. Iterations remember: the decoder's feature maps (eq. 4) and the latent code (eq. 5).
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from idemnet.models.blocks import GatedBlock, ResidualBlock, conv, deconv, relu, shuffles
from idemnet.models.padding import crop, pad_to_multiple

RecurrenceTap = Literal["residual", "upsample"]
BlockKind = Literal["residual", "gated"]
Block = Callable[[int, int], nn.Module]
"""Builds a block for so many channels at a level: 1, 2 or 3 (full, half, a quarter resolution)."""


class Memory(NamedTuple):
    """What an iteration leaves to the next one."""

    features1: Tensor
    """F1 of eq. 4, at the network's full resolution."""
    features2: Tensor
    """F2 of eq. 4, at half of it."""
    code: Tensor
    """h of eq. 5, at a quarter of it."""


class Encoder(nn.Module):
    """Image to latent code; the feature maps of the last iteration join before each halving."""

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
        # The first iteration has nothing to remember: its own features stand in, which have the
        # scale that the convolution will see later; zeros would not.
        return torch.cat([features, features if remembered is None else remembered], 1)


class ConvGRU(nn.Module):
    """Latent code recurrence (eq. 5): what to keep of the codes of earlier iterations."""

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
    """A convolution into the space of codes, then the ConvGRU, which starts from zeros."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        # Not in the paper's text, but needed for its count of parameters.
        self.project = nn.Sequential(conv(channels, channels), relu())
        self.gru = ConvGRU(channels)

    def forward(self, code: Tensor, memory: Memory | None) -> Tensor:
        code = self.project(code)
        hidden: Tensor = self.gru(code, torch.zeros_like(code) if memory is None else memory.code)
        return hidden


class FusingBlock(nn.Module):
    """Skip connection: the encoder's features are concatenated, mixed, and added."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            conv(2 * channels, 2 * channels), relu(), conv(2 * channels, channels)
        )

    def forward(self, upsampled: Tensor, skipped: Tensor) -> Tensor:
        residual: Tensor = self.body(torch.cat([upsampled, skipped], 1))
        return residual.add_(upsampled)


class Decoder(nn.Module):
    """Latent code to residual image, and the feature maps for the next iteration."""

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
        """Decode what the encoder gave; return the residual image and what to remember."""
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

    Images are (N, 3, H, W) in [0, 1] of any size; results are not clamped. Nothing is remembered
    from one call to the next, and the images of a batch do not see each other.

    Args:
        width: Channels at full resolution; twice and four times as many at half and a quarter.
        iterations: How often the shared unit adds its residual in one restoration.
        feature_recurrence: Give the decoder's feature maps to the next iteration (eq. 4).
        code_recurrence: Remember the latent codes of earlier iterations (eq. 5).
        recurrence_tap: Where these feature maps are taken: behind the last residual block of each
            decoder level, as the paper's text says, or at the upsampling layer before it.
        downscale: Work on squares of this many pixels as one, with as many more image channels;
            2 costs about a quarter, for machines without a GPU.
        block: What each level is built of: the paper's residual blocks, or gated ones, which learn
            more in the same time.
        attention_window: Pixels of the image over which gated blocks take means when they restore;
            the side of the crops that they are trained on.
        residual_scale: Factor on the last convolution's initial weights; 0.01 starts near the
            identity, from where small networks learn more steadily.
        checkpoint_iterations: In training, keep only the images and memories between iterations
            and compute the rest again when the gradient needs it.
    """

    def __init__(
        self,
        width: int = 32,
        iterations: int = 6,
        *,
        feature_recurrence: bool = True,
        code_recurrence: bool = True,
        recurrence_tap: RecurrenceTap = "residual",
        downscale: int = 1,
        block: BlockKind = "residual",
        attention_window: int = 128,
        residual_scale: float = 1.0,
        checkpoint_iterations: bool = False,
    ) -> None:
        super().__init__()
        if min(width, iterations, downscale) < 1:
            raise ValueError("width, iterations and downscale must be at least 1")
        if recurrence_tap not in ("residual", "upsample"):
            raise ValueError(f"recurrence_tap is '{recurrence_tap}', not 'residual' or 'upsample'")
        self.iterations = iterations
        self.downscale = downscale
        self.checkpoint_iterations = checkpoint_iterations
        self.unshuffle, self.shuffle = shuffles(downscale)
        channels = 3 * downscale**2
        build = _block_builder(block, attention_window // downscale)
        self.encoder = Encoder(channels, width, build, feature_recurrence=feature_recurrence)
        self.recurrence = CodeRecurrence(4 * width) if code_recurrence else None
        self.decoder = Decoder(channels, width, build, recurrence_tap)
        self.apply(_initialise)
        with torch.no_grad():
            self.decoder.to_image.weight.mul_(residual_scale)

    def forward(self, image: Tensor) -> Tensor:
        """Restore images."""
        return self.iterate(image)[-1]

    def iterate(self, image: Tensor) -> list[Tensor]:
        """Return the images after each iteration; the last one is the restored image."""
        height, width = image.shape[-2:]
        current = self.unshuffle(pad_to_multiple(image, 4 * self.downscale))
        memory: Memory | None = None
        images = []
        for _ in range(self.iterations):
            if self.checkpoint_iterations and torch.is_grad_enabled():
                current, memory = checkpoint(
                    self._step, current, memory, use_reentrant=False, preserve_rng_state=False
                )
            else:
                current, memory = self._step(current, memory)
            images.append(crop(self.shuffle(current), height, width))
        return images

    def _step(self, image: Tensor, memory: Memory | None) -> tuple[Tensor, Memory]:
        """One iteration (eq. 6): the new image and the new memory."""
        features1, features2, code = self.encoder(image - 0.5, memory)
        if self.recurrence is not None:
            code = self.recurrence(code, memory)
        residual, memory = self.decoder(features1, features2, code)
        return image + residual, memory


def _block_builder(kind: BlockKind, window: int) -> Block:
    if kind == "residual":
        return lambda channels, _: ResidualBlock(channels)
    if kind == "gated":
        return lambda channels, level: GatedBlock(channels, window >> (level - 1))
    raise ValueError(f"block is '{kind}', not 'residual' or 'gated'")


def _initialise(module: nn.Module) -> None:
    """Xavier's weights and zero biases; the GRU's two gates are two layers, drawn one by one.

    Gated blocks keep torch's own: of a depthwise convolution, Xavier's would be next to nothing.
    """
    if isinstance(module, ConvGRU):
        for gate in module.gates.weight.data.chunk(2):
            nn.init.xavier_uniform_(gate)
    elif isinstance(module, nn.Conv2d | nn.ConvTranspose2d) and module.groups == 1:
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
