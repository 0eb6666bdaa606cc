"""Parameters of a task: its groups, and what must hold between them."""

from typing import Self

from pydantic import model_validator

from idemnet.parameters.base import Parameters
from idemnet.parameters.crop import CropParameters
from idemnet.parameters.evaluate import EvaluateParameters
from idemnet.parameters.restore import RestoreParameters
from idemnet.parameters.source import SourceParameters
from idemnet.parameters.train import TrainParameters


class TaskParameters(Parameters):
    """What all tasks have in common."""

    source: SourceParameters
    crop: CropParameters
    train: TrainParameters
    evaluate: EvaluateParameters
    restore: RestoreParameters = RestoreParameters()

    @model_validator(mode="after")
    def _crops_come_out_of_patches(self) -> Self:
        if self.train.crop > self.crop.size:
            raise ValueError(
                f"train.crop = {self.train.crop} must not exceed crop.size = {self.crop.size}"
            )
        return self

    @model_validator(mode="after")
    def _patches_come_out_of_built_in_scenes(self) -> Self:
        scene = self.source.builtin
        if self.source.kind == "builtin" and self.crop.size > min(scene.height, scene.width):
            raise ValueError(
                f"crop.size = {self.crop.size} must fit into the image: "
                f"source.builtin is {scene.height}x{scene.width}"
            )
        return self
