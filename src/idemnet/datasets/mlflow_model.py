"""The network as MLflow serves it: this file is the model's code, given to MLflow by its path.

The model beside it is tensors and a card; nothing is unpickled.
"""

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from mlflow.models import set_model
from mlflow.pyfunc.model import PythonModel, PythonModelContext
from numpy.typing import NDArray


class Restoration(PythonModel):
    """Takes (N, H, W, 3) images of 8 bits, gives them back restored."""

    def load_context(self, context: PythonModelContext) -> None:
        # MLflow runs this file already when the model is logged; torch is not needed there.
        from safetensors.torch import load_file  # noqa: PLC0415

        card = json.loads(Path(context.artifacts["card"]).read_bytes())
        models = importlib.import_module("idemnet.models").MODELS
        self.network = models[card["architecture"]](**card["arguments"]).train(mode=False)
        self.network.load_state_dict(load_file(context.artifacts["weights"]))

    def predict(
        self,
        context: PythonModelContext,
        model_input: np.ndarray,  # of NDArray MLflow would complain
        params: dict[str, Any] | None = None,
    ) -> NDArray[np.uint8]:
        import torch  # noqa: PLC0415

        with torch.inference_mode():
            degraded = torch.from_numpy(model_input.copy()).permute(0, 3, 1, 2).float() / 255
            restored = self.network(degraded).mul(255).round().clamp(0, 255)
        images: NDArray[np.uint8] = restored.permute(0, 2, 3, 1).byte().numpy()
        return images


set_model(Restoration())
