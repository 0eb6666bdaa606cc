"""Parameters of a task: its groups, and constraints between them."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Self, TypeVar

from pydantic import ValidationError, model_validator

from idemnet.parameters.base import Parameters
from idemnet.parameters.crop import CropParameters
from idemnet.parameters.evaluate import EvaluateParameters
from idemnet.parameters.restore import RestoreParameters
from idemnet.parameters.source import MixedSourceParameters, SourceParameters
from idemnet.parameters.train import TrainParameters

Group = TypeVar("Group", bound=Parameters)


class Preparation(NamedTuple):
    """How one source is prepared."""

    key: str
    """Of the source, for errors."""
    source: SourceParameters | MixedSourceParameters
    synthesize: Any
    """Of the task's own type."""
    crop: CropParameters


class TaskParameters(Parameters):
    """Groups that all tasks share."""

    source: SourceParameters
    synthesize: Parameters
    crop: CropParameters
    train: TrainParameters
    evaluate: EvaluateParameters
    restore: RestoreParameters = RestoreParameters()

    def preparations(self) -> Iterator[Preparation]:
        """Return how each source is prepared; there are several in a mix."""
        if self.source.kind != "mix":
            yield Preparation("source", self.source, self.synthesize, self.crop)
            return
        for name, source in self.source.mix.items():
            key = f"source.mix.{name}"
            yield Preparation(
                key,
                source,
                _change(self.synthesize, f"{key}.synthesize", source.synthesize),
                _change(self.crop, f"{key}.crop", source.crop),
            )

    @model_validator(mode="after")
    def _check_crop_fits_patch(self) -> Self:
        if self.train.crop > self.crop.size:
            raise ValueError(
                f"train.crop = {self.train.crop} must not exceed crop.size = {self.crop.size}"
            )
        return self

    @model_validator(mode="after")
    def _patches_come_out_of_built_in_scenes(self) -> Self:
        for key, source, _, crop in self.preparations():
            scene = source.builtin
            if source.kind == "builtin" and crop.size > min(scene.height, scene.width):
                raise ValueError(
                    f"crop.size = {crop.size} must fit into the image: "
                    f"{key}.builtin is {scene.height}x{scene.width}"
                )
        return self

    @model_validator(mode="after")
    def _all_patches_have_the_same_size(self) -> Self:
        for key, _, _, crop in self.preparations():
            if crop.size != self.crop.size:
                raise ValueError(
                    f"{key}.crop.size = {crop.size} must be that of all, "
                    f"crop.size = {self.crop.size}"
                )
        return self

    @model_validator(mode="after")
    def _evaluated_sources_exist(self) -> Self:
        known = self.source.mix if self.source.kind == "mix" else {}
        unknown = [name for name in self.evaluate.sources if name not in known]
        if unknown:
            raise ValueError(f"evaluate.sources: not in source.mix: {', '.join(unknown)}")
        return self


def _change(group: Group, key: str, changes: dict[str, Any]) -> Group:
    """Set parameters differently for one source.

    Raises:
        ValueError: With the key, the value and the rule it breaks.
    """
    try:
        return group.changed(changes)
    except ValidationError as error:
        [fault, *_] = error.errors()
        where = ".".join(map(str, (key, *fault["loc"])))
        value = "" if isinstance(fault["input"], dict) else f" = {fault['input']!r}"
        said = fault["msg"].removeprefix("Value error, ")
        raise ValueError(f"{where}{value}: {said}") from None
