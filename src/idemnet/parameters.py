"""Every parameter of the project: typed, bounded, documented; those of data in data_parameters.py.

The YAML files under conf/ are read into these classes before any node runs. A key that is not here,
or a value that breaks a rule, ends the run before it has touched a file.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ByteSize,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveInt,
    field_serializer,
    model_validator,
)

STARTER = "starter"
"""Name of the weights that are shipped with the package."""


def _nothing(name: object) -> object:
    """Take what can be typed after --params for what YAML writes as null."""
    return None if name == "none" else name


def _precision(name: object) -> object:
    """Take YAML's booleans: it reads a bare `off` as one."""
    return {True: "auto", False: "off"}[name] if isinstance(name, bool) else name


def _ascending(ends: tuple[float, float]) -> tuple[float, float]:
    if ends[0] > ends[1]:
        raise ValueError("must ascend")
    return ends


Sigma = Annotated[float, Field(ge=0, le=50)]
Ascending = AfterValidator(_ascending)
ProtocolName = Literal["gopro", "realblur", "rgb", "griddehaze", "rain"]


class Parameters(BaseModel):
    """A group of parameters: frozen, and unknown keys are refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )


class IdempotentParameters(Parameters):
    """The idempotent network; the defaults are the paper's."""

    width: Annotated[int, Field(ge=1, le=512)] = 32
    """Channels at full resolution; twice and four times as many at half and a quarter."""
    iterations: Annotated[int, Field(ge=1, le=64)] = 6
    """N: passes of the shared unit in one restoration."""
    feature_recurrence: bool = True
    """Give the decoder's feature maps to the next iteration (eq. 4)."""
    code_recurrence: bool = True
    """Remember the latent codes of earlier iterations (eq. 5)."""
    recurrence_tap: Literal["residual", "upsample"] = "residual"
    """Where the feature maps are taken: behind a decoder level's last block, or before it."""
    downscale: Literal[1, 2, 4] = 1
    """Work on squares of this many pixels as one: 2 costs about a quarter."""
    block: Literal["residual", "gated"] = "residual"
    """What each level is built of: the paper's residual blocks, or gated ones, which learn more in
    the same time."""
    attention_window: Annotated[int, Field(ge=8, le=4096)] = 128
    """Pixels over which gated blocks take means when they restore; the side of training's crops."""
    residual_scale: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Factor on the last convolution's initial weights; 0.01 starts near the identity."""


class DMPHNParameters(Parameters):
    """DMPHN; the defaults are its authors' (1-2-4-8)."""

    stack: Annotated[int, Field(ge=1, le=8)] = 1
    """1: levels 1-2-4-8; more: so many stacks of levels 1-2-4 (4: Stack(4)-DMPHN)."""
    width: Annotated[int, Field(ge=1, le=512)] = 32
    """Channels at full resolution; twice and four times as many at half and a quarter."""
    downscale: Literal[1, 2, 4] = 1
    """Work on squares of this many pixels as one: 2 costs about a quarter."""
    residual_scale: Annotated[float, Field(ge=0, le=1)] | None = None
    """`null`: level 1 gives the image itself, as DMPHN's does. A number, for small trainings: it
    gives a residual, whose last convolution's initial weights have this factor."""


class MTRNNParameters(Parameters):
    """MT-RNN; the defaults are its authors'."""

    width: Annotated[int, Field(ge=1, le=512)] = 32
    """Channels at full resolution; twice and four times as many at half and a quarter."""
    iterations: Annotated[int, Field(ge=1, le=64)] = 6
    """Passes of the shared unit in one restoration."""
    downscale: Literal[1, 2, 4] = 1
    """Work on squares of this many pixels as one: 2 costs about a quarter."""
    residual_scale: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Factor on the last convolution's initial weights; 0.01 starts near the identity."""


class NetworkParameters(Parameters):
    """What each model is built with; only the group of the chosen one counts."""

    idempotent: IdempotentParameters = IdempotentParameters()
    dmphn: DMPHNParameters = DMPHNParameters()
    mtrnn: MTRNNParameters = MTRNNParameters()


class TrainParameters(Parameters):
    """How a network is trained; the defaults are the paper's."""

    model: Literal["idempotent", "dmphn", "mtrnn"] = "idempotent"
    """One of idemnet.models.MODELS: which of the groups in `network` is used."""
    network: NetworkParameters = NetworkParameters()
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
    def arguments(self) -> dict[str, Any]:
        """What the chosen model is built with."""
        group: Parameters = getattr(self.network, self.model)
        return group.model_dump(mode="json")

    @field_serializer("network")
    def _only_what_counts(self, _: NetworkParameters) -> dict[str, Any]:
        """Fingerprints, cards and MLflow see the chosen model's arguments, and no other's."""
        return self.arguments

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
    def _iterations_can_be_supervised(self) -> Self:
        if self.temporal_supervision and self.arguments.get("iterations", 1) < 2:
            raise ValueError(
                f"temporal_supervision needs a model of several iterations, which "
                f"'{self.model}' is not with these arguments"
            )
        return self


class TilingParameters(Parameters):
    """How pictures that are too large to be restored at once are cut up."""

    tile: Annotated[int, Field(ge=64, le=32768)] = 512
    """Images of more pixels than a square of this side are restored in tiles of at most as many.
    With this, most arrays of the paper's network are small enough to be kept (machine.TILES)."""
    tile_overlap: Annotated[int, Field(ge=0, le=1024)] | None = None
    """Pixels that neighbouring tiles share. `null`: as many as the network needs, which is measured
    when it first has to restore in tiles (idemnet.models.reach)."""

    @model_validator(mode="after")
    def _tiles_get_on(self) -> Self:
        if self.tile_overlap is not None and self.tile_overlap >= self.tile:
            raise ValueError(f"tile_overlap = {self.tile_overlap} must be below tile = {self.tile}")
        return self


class RestoreParameters(TilingParameters):
    """How pictures from the inbox are restored."""

    passes: Annotated[int, Field(ge=1, le=100)] = 1
    """Restorations one after the other."""
    memory: ByteSize | None = None
    """What the process may take, as `2GB`: tiles become as small as needed. `null`: not limited."""
    device: Literal["auto", "cuda", "mps", "cpu"] = "auto"


class EvaluateParameters(TilingParameters):
    """How results are scored."""

    protocol: ProtocolName
    """The agreement behind the figures, one of idemnet.evaluation.protocols; the data set's."""
    force_protocol: bool = False
    """Score by it even if nobody scores this task so; the figures compare with no table."""
    passes: Annotated[int, Field(ge=2, le=100)] = 10
    """Restorations one after the other, for the repeat curve."""
    chain: Literal["float", "uint8"] = "float"
    """What one pass hands to the next: its numbers as they are, or rounded and clipped to 8 bits,
    as when a saved picture is restored again."""
    noise: tuple[Annotated[int, Field(ge=0, le=255)], ...] = (0, 5, 10, 15, 20)
    """Standard deviations (of 255) of the noise that is added before restoring."""
    detailed_images: PositiveInt = 100
    """Images, evenly spread, for repeat curve, iterations and noise, which cost as much again as
    many restorations."""
    samples: PositiveInt = 4
    """Images, evenly spread, whose pictures are kept for the report."""
    tile: Annotated[int, Field(ge=64, le=32768)] = 2048
    """Larger images are restored in tiles of at most this many pixels a side."""
    device: Literal["auto", "cuda", "mps", "cpu"] = "auto"
