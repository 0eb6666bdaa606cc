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
"""Name of the weights that are shipped with the package."""


def _nothing(name: object) -> object:
    """Take what can be typed after --params for what YAML writes as null."""
    return None if name == "none" else name


def _precision(name: object) -> object:
    """Take YAML's booleans: it reads a bare `off` as one."""
    return {True: "auto", False: "off"}[name] if isinstance(name, bool) else name


OWN_NETWORK = r"[A-Za-z_][\w.]*:[A-Za-z_]\w*"
"""How a network of somebody else's is named: `package.module:Class`."""


def _known_network(name: str) -> str:
    known = tuple(NetworkParameters.model_fields)
    if name not in known and not re.fullmatch(OWN_NETWORK, name):
        raise ValueError(f"must be {', '.join(known)} or package.module:Class")
    return name


Sigma = Annotated[float, Field(ge=0, le=50)]


class TrainParameters(Parameters):
    """How a network is trained; the defaults are the paper's."""

    model: Annotated[str, AfterValidator(_known_network)] = "idempotent"
    """`idempotent`, `dmphn` or `mtrnn`, built with its group in `network`; or a network of your
    own, `package.module:Class`: any torch module that maps (N, 3, H, W) in [0, 1] to the same."""
    network: NetworkParameters = NetworkParameters()
    arguments: dict[str, Any] = Field({}, exclude=True)  # `network` is dumped with them
    """What a network of your own is built with."""
    initialize_from: Annotated[str | None, BeforeValidator(_nothing)] = None
    """What to go on from: `starter` (the weights that are shipped), the path of a
    weights.safetensors with its card beside it, mlflow:NAME@ALIAS; `none`: from scratch."""

    times: Annotated[int, Field(ge=1, le=8)] = 2
    """Restorations in training, re-restoring included; 1 is a network as all others."""
    alphas: Annotated[tuple[Annotated[float, Field(ge=0)], ...], Field(min_length=1)] = (1.0, 1.0)
    """Weight of each pass against the clean image (eq. 8)."""
    idempotence_weight: Annotated[float, Field(ge=0)] = 0.1
    """Lambda of eq. 9: how much passes should agree."""
    detach_between_passes: bool = False
    """Whether a pass takes the image before as given, without a gradient through it."""
    warmup_epochs: NonNegativeInt = 0
    """Epochs of one pass only, before the others join."""
    temporal_supervision: bool = False
    """Ask each iteration of the first pass for the next smaller level of blur, and the last for the
    clean image, as MT-RNN does; needs several levels around the same centres."""

    epochs: PositiveInt = 3000
    """In each, every pair of images gives one random crop."""
    batch_size: PositiveInt = 6
    """Of all processes together."""
    accumulate: PositiveInt = 1
    """Parts in which a batch is computed, where memory is short."""
    crop: Annotated[int, Field(ge=4, le=4096)] = 256
    """Side of a random crop, in pixels."""
    saturation: tuple[Annotated[float, Field(ge=0)], Annotated[float, Field(le=4)]] = (0.8, 1.2)
    """Range of the random factor on colour saturation, the same for input and target."""
    softness: Annotated[tuple[Sigma, Sigma], Ascending] = (0.0, 0.0)
    """Range of the Gaussian (sigma in pixels) that softens input and target alike, as lenses and
    video do; rendered scenes are sharper than any camera's pictures."""
    grain: Annotated[tuple[Sigma, Sigma], Ascending] = (0.0, 0.0)
    """Range of the noise (sigma of 255) that is added to the input."""

    learning_rate: Annotated[float, Field(gt=0, le=1)] = 1e-4
    """Of Adam, with betas 0.9 and 0.999."""
    schedule: Literal["step", "cosine"] = "step"
    """`step`: times `decay` every `decay_epochs`; `cosine`: down to zero at the end."""
    decay: Annotated[float, Field(gt=0, le=1)] = 0.5
    decay_epochs: PositiveInt = 500
    rise_steps: NonNegativeInt = 0
    """Updates over which the learning rate rises from zero."""
    gradient_clip: Annotated[float, Field(gt=0)] | None = None
    """Largest norm of the gradient; `null`: not limited."""
    average: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share that the running mean of the weights keeps at each update; validation and the result
    then take the mean. 0: the last weights themselves."""

    seed: NonNegativeInt = 0
    """Of weights, order and augmentation."""
    device: Literal["auto", "cuda", "mps", "cpu"] = "auto"
    threads: NonNegativeInt = 0
    """CPU threads of each process; 0: the cores divided by the processes. Changes the last bits."""
    deterministic: bool = False
    """On CUDA, use deterministic algorithms only, which are slower; an operation that has none ends
    the training. A CPU needs no such switch."""
    mixed_precision: Annotated[
        Literal["auto", "bf16", "fp16", "off"], BeforeValidator(_precision)
    ] = "auto"
    """`auto`: train in bfloat16 where the device computes with it (CUDA cards and CPUs that have
    instructions for it), in float16 on older CUDA cards, in float32 elsewhere; `off`: float32."""
    compile: bool = False
    """Use torch.compile."""
    checkpoint_iterations: bool = False
    """Keep only the images between iterations for the gradient: less memory, more time."""
    validation_epochs: PositiveInt = 10
    """Epochs from one validation to the next; weights are chosen by its PSNR, after the first pass
    and, where several are trained, after the third."""
    validation_patches: PositiveInt = 100
    """Patches it is computed on, spread over the held-out sequences."""

    workers: NonNegativeInt = 1
    """Processes that read samples; changes no result."""
    checkpoint_steps: PositiveInt = 1000
    """Updates between checkpoints, of which the last two are kept; changes no result."""
    checkpoint_minutes: Annotated[float, Field(gt=0)] = 10.0
    """Minutes after which a checkpoint is saved in any case; changes no result."""
    time_limit_minutes: Annotated[float | None, Field(gt=0), BeforeValidator(_nothing)] = None
    """Minutes after the start of the command at which training saves a checkpoint and exits; the
    same command resumes."""
    processes: PositiveInt = 1
    """Training processes on each machine, one for each GPU."""
    nodes: PositiveInt = 1
    """Machines."""
    rendezvous: str = "localhost:0"
    """Where processes meet: host:port of the first machine; port 0 takes a free one."""
    rendezvous_minutes: Annotated[float, Field(gt=0)] = 60.0
    """How long machines wait for each other, and for prepared data in a shared folder."""

    @property
    def network_arguments(self) -> dict[str, Any]:
        """What the chosen model is built with."""
        if ":" in self.model:
            return dict(self.arguments)
        group: Parameters = getattr(self.network, self.model)
        return group.model_dump(mode="json")

    @field_serializer("network")
    def _only_what_counts(self, _: NetworkParameters) -> dict[str, Any]:
        """Fingerprints, cards and MLflow see the chosen model's arguments, and no other's."""
        return self.network_arguments

    @model_validator(mode="after")
    def _passes_and_batches_fit(self) -> Self:
        if self.times > len(self.alphas):
            raise ValueError(f"times = {self.times} needs as many alphas, not {len(self.alphas)}")
        parts = self.accumulate * self.processes * self.nodes
        if self.batch_size % parts:
            raise ValueError(
                f"batch_size = {self.batch_size} must divide by accumulate x processes x nodes, "
                f"{parts}"
            )
        if self.saturation[0] > self.saturation[1]:
            raise ValueError(f"saturation {list(self.saturation)} must ascend")
        return self

    @model_validator(mode="after")
    def _arguments_are_of_an_own_network(self) -> Self:
        if self.arguments and ":" not in self.model:
            raise ValueError(
                f"arguments are for a network of your own; those of '{self.model}' are in "
                f"network.{self.model}"
            )
        return self

    @model_validator(mode="after")
    def _iterations_can_be_supervised(self) -> Self:
        if self.temporal_supervision and self.network_arguments.get("iterations", 1) < 2:
            raise ValueError(
                f"temporal_supervision needs a model of several iterations, which "
                f"'{self.model}' is not with these arguments"
            )
        return self
