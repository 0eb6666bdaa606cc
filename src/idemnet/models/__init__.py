"""Restoration networks, one file each; they know nothing of training."""

from idemnet.models.idempotent import IdempotentNet

MODELS = {"idempotent": IdempotentNet}
