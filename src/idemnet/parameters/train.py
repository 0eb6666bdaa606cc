"""Parameters of training."""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    NonNegativeInt,
    PositiveInt,
    field_serializer,
    model_validator,
)

from idemnet.parameters.base import Ascending, Parameters
from idemnet.parameters.network import NetworkParameters

STARTER = "starter"
"""Name of the bundled weights."""


def _nothing(name: object) -> object:
    """Read `none`, which --params can pass, as YAML's null."""
    return None if name == "none" else name


def _precision(name: object) -> object:
    """Accept booleans: YAML reads a bare `off` as one."""
    return {True: "auto", False: "off"}[name] if isinstance(name, bool) else name


def _positive_or_auto(count: object) -> object:
    """Check here: of a union, pydantic would report every member."""
    is_count = isinstance(count, int) and not isinstance(count, bool) and count > 0
    if not is_count and count != "auto":
        raise ValueError("must be a positive integer or auto")
    return count


OWN_NETWORK = r"[A-Za-z_][\w.]*:[A-Za-z_]\w*"
"""Pattern of external networks: `package.module:Class`."""


def _known_network(name: str) -> str:
    known = tuple(NetworkParameters.model_fields)
    if name not in known and not re.fullmatch(OWN_NETWORK, name):
        raise ValueError(f"must be {', '.join(known)} or package.module:Class")
    return name


Sigma = Annotated[float, Field(ge=0, le=50)]


WITHOUT_EFFECT = {
    "workers", "checkpoint_steps", "checkpoint_minutes", "time_limit_minutes", "rendezvous",
    "rendezvous_minutes",
}  # fmt: skip
"""Parameters that only affect the duration of a training."""
LOGGED = {"validation_images", "validation_image_epochs"}
"""Parameters that only affect what is logged."""
ENVIRONMENT = {
    "device", "threads", "deterministic", "compile", "accumulation_steps", "checkpoint_iterations",
    "processes", "nodes",
}  # fmt: skip
"""Parameters of the computing environment: in exact arithmetic they have no effect, so a checkpoint
is resumed with others; in floating point the last bits differ."""


class TrainParameters(Parameters):
    """How a network is trained; the defaults are the paper's."""

    model: Annotated[str, AfterValidator(_known_network)] = "idempotent"
    """`idempotent`, `dmphn`, `mtrnn` or `unet`, built with its group in `network`; or a network of
    your own, `package.module:Class`: any torch module from (N, 3, H, W) in [0, 1] to the same."""
    network: NetworkParameters = NetworkParameters()
    arguments: dict[str, Any] = Field({}, exclude=True)  # dumped as part of `network`
    """Arguments of a network of your own."""
    initialize_from: Annotated[str | None, BeforeValidator(_nothing)] = None
    """Initial weights: `starter` (the bundled weights), the path of a weights.safetensors with its
    card, hf://OWNER/NAME, mlflow:NAME@ALIAS; `none`: from scratch."""

    passes: Annotated[int, Field(ge=1, le=8)] = 2
    """Number of passes in training; 1 trains without the constraint."""
    alphas: Annotated[tuple[Annotated[float, Field(ge=0)], ...], Field(min_length=1)] = (1.0, 1.0)
    """Weight of each pass's distance to the clean image (eq. 8)."""
    idempotence_weight: Annotated[float, Field(ge=0)] = 0.1
    """Lambda of eq. 9: weight of the distance between passes."""
    detach_between_passes: bool = False
    """Whether to stop the gradient between passes."""
    single_pass_epochs: NonNegativeInt = 0
    """Number of first epochs that are trained with one pass only."""
    temporal_supervision: bool = False
    """Train each iteration of the first pass towards the next smaller level of blur, and the last
    towards the clean image, as MT-RNN does; needs several levels around the same centres."""

    epochs: PositiveInt = 3000
    """Number of epochs; each takes one random crop from every pair of images."""
    batch_size: PositiveInt = 6
    """Size of the global batch, over all processes."""
    accumulation_steps: PositiveInt = 1
    """Gradient accumulation: number of parts of a batch, to save memory."""
    crop: Annotated[int, Field(ge=4, le=4096)] = 256
    """Side of a random crop, in pixels."""
    saturation: tuple[Annotated[float, Field(ge=0)], Annotated[float, Field(le=4)]] = (0.8, 1.2)
    """Range of the random factor on colour saturation, the same for input and target."""
    softness: Annotated[tuple[Sigma, Sigma], Ascending] = (0.0, 0.0)
    """Range of the Gaussian blur (sigma in pixels) on input and target, as of lenses and video
    compression; rendered scenes are sharper than camera pictures."""
    grain: Annotated[tuple[Sigma, Sigma], Ascending] = (0.0, 0.0)
    """Range of the noise (sigma of 255) added to the input."""

    learning_rate: Annotated[float, Field(gt=0, le=1)] = 1e-4
    """Learning rate of Adam, with betas 0.9 and 0.999."""
    schedule: Literal["step", "cosine"] = "step"
    """`step`: times `decay` every `decay_epochs`; `cosine`: down to zero at the end."""
    decay: Annotated[float, Field(gt=0, le=1)] = 0.5
    decay_epochs: PositiveInt = 500
    warmup_steps: NonNegativeInt = 0
    """Learning-rate warm-up: updates over which it rises linearly from zero."""
    gradient_clip: Annotated[float, Field(gt=0)] | None = None
    """Largest norm of the gradient; `null`: no clipping."""
    ema_decay: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Decay of the exponential moving average (EMA) of the weights, which is validated and
    published. 0: no EMA."""

    seed: NonNegativeInt = 0
    """Seed of weights, order and augmentation."""
    device: Literal["auto", "cuda", "mps", "cpu"] = "auto"
    threads: NonNegativeInt = 0
    """CPU threads of each process; 0: the cores that are idle when training starts, divided by the
    processes; a resumed training keeps their number if the machine has as many. Changes the last
    bits."""
    deterministic: bool = False
    """On CUDA, use deterministic algorithms only, which are slower; operations without one raise an
    error. Has no effect on a CPU."""
    mixed_precision: Annotated[
        Literal["auto", "bf16", "fp16", "off"], BeforeValidator(_precision)
    ] = "auto"
    """`auto`: train in bfloat16 where the device computes with it (CUDA cards and CPUs that have
    instructions for it), in float16 on older CUDA cards, in float32 elsewhere; `off`: float32."""
    compile: bool = False
    """Use torch.compile."""
    checkpoint_iterations: bool = False
    """Activation checkpointing between iterations: less memory, more time."""
    validation_epochs: PositiveInt = 10
    """Epochs between validations, which select weights by PSNR after the first pass and, if several
    passes are trained, after the third."""
    validation_patches: PositiveInt = 100
    """Number of validation patches, spread over the held-out sequences."""
    validation_images: NonNegativeInt = 0
    """Number of whole held-out images, spread over the sequences, that are restored too; only
    logged: patches select the weights."""
    validation_image_epochs: PositiveInt = 50
    """Epochs between validations on whole images, which take longer than patches."""

    workers: NonNegativeInt = 1
    """Loader processes; does not change results."""
    checkpoint_steps: PositiveInt = 1000
    """Updates between checkpoints, of which the last two are kept; does not change results."""
    checkpoint_minutes: Annotated[float, Field(gt=0)] = 10.0
    """Minutes after which a checkpoint is saved in any case; does not change results."""
    time_limit_minutes: Annotated[float | None, Field(gt=0), BeforeValidator(_nothing)] = None
    """Minutes after the start of the command at which training saves a checkpoint and exits; the
    same command resumes."""
    processes: Annotated[int | Literal["auto"], BeforeValidator(_positive_or_auto)] = 1
    """Training processes on each machine, one for each GPU; `auto`: as many as there are visible
    GPUs, or 1. Under torchrun or srun, which start them, this and `nodes` are ignored."""
    nodes: PositiveInt = 1
    """Number of machines."""
    rendezvous: str = "localhost:0"
    """Rendezvous of the processes: host:port of the first machine; port 0: a free port."""
    rendezvous_minutes: Annotated[float, Field(gt=0)] = 60.0
    """How long machines wait for each other, and for prepared data in a shared folder."""

    @property
    def network_arguments(self) -> dict[str, Any]:
        """Return the arguments of the chosen model."""
        if ":" in self.model:
            return dict(self.arguments)
        group: Parameters = getattr(self.network, self.model)
        return group.model_dump(mode="json")

    @field_serializer("network")
    def _dump_chosen_network(self, _: NetworkParameters) -> dict[str, Any]:
        """Dump only the chosen model's arguments, for fingerprints, cards and MLflow."""
        return self.network_arguments

    @model_validator(mode="after")
    def _check_passes_and_batch(self) -> Self:
        if self.passes > len(self.alphas):
            raise ValueError(f"passes = {self.passes} needs as many alphas, not {len(self.alphas)}")
        processes = self.processes if isinstance(self.processes, int) else 1  # counted by the run
        parts = self.accumulation_steps * processes * self.nodes
        if self.batch_size % parts:
            raise ValueError(
                f"batch_size = {self.batch_size} must be a multiple of accumulation_steps x "
                f"processes x nodes = {parts}"
            )
        if self.saturation[0] > self.saturation[1]:
            raise ValueError(f"saturation {list(self.saturation)} must be ascending")
        return self

    @model_validator(mode="after")
    def _check_arguments(self) -> Self:
        if self.arguments and ":" not in self.model:
            raise ValueError(
                f"arguments are for a network of your own; those of '{self.model}' are in "
                f"network.{self.model}"
            )
        return self

    @model_validator(mode="after")
    def _check_temporal_supervision(self) -> Self:
        if self.temporal_supervision and self.network_arguments.get("iterations", 1) < 2:
            raise ValueError(
                f"temporal_supervision needs a model of several iterations, which "
                f"'{self.model}' is not with these arguments"
            )
        return self
