"""MLflow model of a network: this file is the model's code, passed to MLflow by path.

Its artifacts are tensors, a card and the networks' source; nothing is unpickled.
"""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from mlflow.models import set_model
from mlflow.pyfunc.model import PythonModel, PythonModelContext
from numpy.typing import NDArray


class Restoration(PythonModel):
    """Takes one image (H, W, 3) or a batch (N, H, W, 3), RGB of 8 bits; returns them restored."""

    def load_context(self, context: PythonModelContext) -> None:
        # MLflow also runs this file when the model is logged, where torch is not needed.
        from safetensors.torch import load_file  # noqa: PLC0415

        # Last, because an installed idemnet takes precedence; this copy has only the networks.
        sys.path.append(context.artifacts["code"])
        card = json.loads(Path(context.artifacts["card"]).read_bytes())
        build = importlib.import_module("idemnet.models").build_network
        self.network = build(card["architecture"], card["arguments"]).train(mode=False)
        self.network.load_state_dict(load_file(context.artifacts["weights"]))

    def predict(
        self,
        context: PythonModelContext,
        model_input: np.ndarray,  # MLflow would warn about NDArray
        params: dict[str, Any] | None = None,
    ) -> NDArray[np.uint8]:
        import torch  # noqa: PLC0415

        images = np.array(model_input.tolist()) if model_input.dtype == object else model_input
        is_image = images.ndim in (3, 4) and images.shape[-1] == 3 and images.size
        if not is_image or images.dtype.kind not in "iu" or (images != images.astype("u1")).any():
            raise ValueError(
                f"image of shape {images.shape} and type {images.dtype}: must be one (H, W, 3) or "
                "a batch (N, H, W, 3), integers from 0 to 255"
            )
        batch = images.astype(np.float32).reshape(-1, *images.shape[-3:])
        with torch.inference_mode():
            degraded = torch.from_numpy(batch).permute(0, 3, 1, 2) / 255
            restored = self.network(degraded).mul(255).round().clamp(0, 255)
        result: NDArray[np.uint8] = restored.permute(0, 2, 3, 1).byte().numpy()
        return result.reshape(images.shape)


set_model(Restoration())
