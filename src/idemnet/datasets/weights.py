"""06_models: trained weights as safetensors, with a card that says what they are."""

from idemnet.datasets.folder import DatasetFolder
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


class WeightsDataset(DatasetFolder):
    """What `train` publishes: weights.safetensors, card.json and history.json, together."""

    def load(self) -> TrainedModel:
        try:
            weights, card = read_weights(self._folder / WEIGHTS)
            history = read_history(self._folder / HISTORY)
        except BadInputError as error:
            remedy = f"; make it again with: {self._made_by}" if self._made_by else ""
            raise BadInputError(f"{error}{remedy}") from error
        return TrainedModel(weights, card, history)

    def save(self, data: TrainedModel) -> None:
        write_weights(self._folder, data)

    def _exists(self) -> bool:
        return (self._folder / CARD).is_file()
