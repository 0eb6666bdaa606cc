"""Cells that several studies share; each is trained once."""

from idemnet.studies.parts.study import Cell

ALONE = {"passes": 1, "idempotence_weight": 0.0}
"""A training without the constraint."""

IDEMPOTENT = Cell("idempotent", "idempotent, with the constraint")
IDEMPOTENT_WITHOUT = Cell("idempotent_without", "idempotent, without", ALONE)
LONG = Cell("long", "idempotent, with the constraint, trained longer")
LONG_WITHOUT = Cell("long_without", "idempotent, without, trained longer", ALONE)
DMPHN = Cell("dmphn", "DMPHN, with the constraint", {"model": "dmphn"})
DMPHN_WITHOUT = Cell("dmphn_without", "DMPHN, without", {"model": "dmphn", **ALONE})
MTRNN = Cell("mtrnn", "MT-RNN, with the constraint", {"model": "mtrnn"})
MTRNN_WITHOUT = Cell("mtrnn_without", "MT-RNN, without", {"model": "mtrnn", **ALONE})
UNET = Cell("unet", "gated U-shape, with the constraint", {"model": "unet"})
UNET_WITHOUT = Cell("unet_without", "gated U-shape, without", {"model": "unet", **ALONE})
"""Not in the paper: the network of the starter weights."""
