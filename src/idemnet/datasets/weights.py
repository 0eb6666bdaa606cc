"""06_models: trained weights as safetensors, with a card that describes them."""

from collections.abc import Mapping
from typing import Any

from idemnet.datasets.folder import Folder
from idemnet.datasets.tracking import open_stores
from idemnet.errors import BadInputError
from idemnet.inference.weights import (
    CARD,
    HISTORY,
    WEIGHTS,
    TrainedModel,
    read_history,
    read_weights,
    write_weights,
)
from idemnet.media.preview import PlotlyPreview
from idemnet.steps.services import Training
from idemnet.storage.atomic import display_path

CURVES = {"validation/psnr": "first pass", "validation/psnr_3": "third pass"}


class WeightsDataset(Folder):
    """Output of `train`: weights.safetensors, card.json and history.json."""

    def __init__(
        self,
        filepath: str,
        checkpoints: Mapping[str, str] | None = None,
        runs: Mapping[str, str] | None = None,
        metadata: dict[str, Any] | None = None,
        made_by: str = "",
    ) -> None:
        """Name the folder, and where trainings keep checkpoints and runs.

        Args:
            filepath: The folder of the task and data set.
            checkpoints: Folder of their checkpoints.
            runs: MLflow's database.
            metadata: For kedro-viz.
            made_by: The command that makes it, for errors.
        """
        super().__init__(filepath, metadata, made_by)
        if checkpoints and runs:
            self.checkpoints, self.tracker = open_stores(checkpoints, runs)
            self.writes = (self.checkpoints.folder,)

    def load(self) -> TrainedModel:
        try:
            weights, card = read_weights(self._folder / WEIGHTS)
            history = read_history(self._folder / HISTORY)
        except BadInputError as error:
            remedy = f"; make it again with: {self._made_by}" if self._made_by else ""
            raise BadInputError(f"{error}{remedy}") from error
        if card["task"] != self.task:
            raise BadInputError(
                f"{display_path(self._folder)}: the weights are for task '{card['task']}', "
                f"not '{self.task}'"
            )
        return TrainedModel(weights, card, history)

    def save(self, data: TrainedModel | Training) -> None:
        if not isinstance(data, TrainedModel):
            data = data.run(self.checkpoints, self.tracker)
        write_weights(self._folder, data)

    def preview(self) -> PlotlyPreview:
        """Plot the validation scores during training."""
        history = self.load().history
        curves = [
            {
                "name": label,
                "x": [epoch["epoch"] for epoch in history if key in epoch],
                "y": [epoch[key] for epoch in history if key in epoch],
            }
            for key, label in CURVES.items()
        ]
        titles = {"xaxis": "epoch", "yaxis": "validation PSNR, dB"}
        axes = {name: {"title": {"text": title}} for name, title in titles.items()}
        return PlotlyPreview({"data": curves, "layout": axes})

    def _exists(self) -> bool:
        return (self._folder / CARD).is_file()
