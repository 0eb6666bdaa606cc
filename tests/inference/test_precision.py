"""Pictures of 8 bits are restored in bfloat16 where the CPU has it; nobody can tell."""

import cv2
import numpy as np
import pytest
import torch

from idemnet import Restorer
from idemnet.inference.restore import restore
from idemnet.media.photographs import PHOTOGRAPHS
from idemnet.models import build_network
from idemnet.system import device


@pytest.fixture
def restorers(request, monkeypatch) -> list[Restorer]:
    """Return what the same weights give on a CPU with bfloat16 and on one without."""
    loaded = []
    for has in (True, False):
        monkeypatch.setattr(device, "has_bfloat16", lambda has=has: has)
        loaded.append(Restorer.load(request.param, device="cpu"))
    return loaded


@pytest.mark.parametrize("restorers", ["deblur"], indirect=True)
def test_bfloat16_cannot_be_seen(restorers):
    mixed, full = restorers
    assert (mixed.precision, full.precision) == ("bfloat16", "float32")
    picture = cv2.blur(PHOTOGRAPHS[0]()[:150, :210], (9, 1))
    expected = full(picture)
    difference = np.abs(mixed(picture).astype(int) - expected)
    assert np.abs(expected.astype(int) - picture).mean() > 0.1
    assert 0 < difference.mean() < 0.1 and difference.max() <= 1  # so it was computed in it
    assert (mixed.iterations(picture)[-1] == mixed(picture)).all()


@pytest.mark.parametrize("restorers", ["deblur"], indirect=True)
@pytest.mark.parametrize("kind", [np.float32, np.uint16])
def test_finer_pictures_are_computed_in_float32(restorers, kind):
    mixed, full = restorers
    picture = (PHOTOGRAPHS[0]()[:90, :99] * (1 / 255 if kind == np.float32 else 257.0)).astype(kind)
    assert mixed.precision_of(picture) == "float32"
    assert (mixed(picture) == full(picture)).all()


def test_only_networks_that_say_so_and_cpus_restore_in_bfloat16(monkeypatch):
    monkeypatch.setattr(device, "has_bfloat16", lambda: True)
    unet, idempotent = (build_network(name, {"width": 2}) for name in ("unet", "idempotent"))
    assert device.restoring_precision(unet, "cpu") == "bfloat16"
    assert device.restoring_precision(unet, "cuda") == "float32"
    assert device.restoring_precision(idempotent, "cpu") == "float32"
    assert device.restoring_precision(torch.nn.Identity(), "cpu") == "float32"


@pytest.mark.parametrize("restorers", ["deblur"], indirect=True)
def test_what_scores_call_stays_in_float32(restorers):
    mixed, full = restorers
    picture = PHOTOGRAPHS[0]()[:90, :110]
    assert (restore(mixed.model, picture, mixed.how, "cpu") == full(picture)).all()
