"""Result of a training: the best weights, and a card that describes them."""

import hashlib
from typing import Any

import idemnet
from idemnet.inference.network import with_tile_overlap
from idemnet.inference.weights import TrainedModel, serialise
from idemnet.models.cost import count_parameters
from idemnet.training.job import TrainingJob


def describe(job: TrainingJob, final: dict[str, Any]) -> TrainedModel:
    """Extract the best weights from the last checkpoint."""
    best = final["best"]
    card = {
        "task": job.task,
        "architecture": job.parameters.model,
        "arguments": job.parameters.network_arguments,
        "parameters": count_parameters(job.build_model()),
        "training": job.made_from["train"],
        "epoch": best["epoch"],
        "validation": best["scores"],
        "data_fingerprint": job.patches.fingerprint,
        **({"sources": dict(job.patches.weights)} if job.patches.weights else {}),
        "fingerprint": job.fingerprint,
        "device": final["environment"]["device"],
        "environment": final["environment"],
        "resumed_with": final["resumed_with"],
        "idemnet": idemnet.__version__,
        "sha256": hashlib.sha256(serialise(best["weights"])).hexdigest(),
    }
    return with_tile_overlap(TrainedModel(best["weights"], card, final["history"]), job.device)
