"""Non-finite values are rejected on input and on output, and never averaged."""

import io
import math

import numpy as np
import pytest
import tifffile
import torch

from idemnet import Restorer
from idemnet.errors import BadInputError
from idemnet.evaluation.protocols import PROTOCOLS, mean_scores
from idemnet.inference.restore import restore
from idemnet.media.image_files import decode_image
from idemnet.media.read_photo import decode_photo
from idemnet.models import build_network
from idemnet.parameters.restore import RestoreParameters
from idemnet.steps.data import Patches
from idemnet.training.validation import validate

from ..evaluation.test_measure import measured
from ..training.tiny import SIZE, RandomPatches

NOT_FINITE = [math.nan, math.inf, -math.inf]


@pytest.mark.parametrize("value", NOT_FINITE)
def test_a_file_with_such_values_is_rejected(value):
    content = io.BytesIO()
    tifffile.imwrite(content, np.full((8, 8), value, np.float32), photometric="minisblack")
    for read in (decode_image, decode_photo):
        with pytest.raises(BadInputError, match=r"a\.tif: colour mode F is not supported"):
            read(content.getvalue(), "a.tif")


@pytest.mark.parametrize("value", NOT_FINITE)
def test_a_picture_with_such_a_value_is_rejected_by_the_restorer(value):
    restorer = Restorer.load("deblur", device="cpu")
    picture = np.full((16, 16, 3), 0.5, np.float32)
    picture[3, 4, 1] = value
    for given in (picture, picture[:, :, 1], torch.from_numpy(picture).permute(2, 0, 1)):
        with pytest.raises(BadInputError, match="the picture has non-finite values"):
            restorer(given)


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_a_network_that_gives_such_values_writes_no_picture(kind):
    """Rounded to 8 bits they would be black, and nobody would know."""
    network = build_network("idempotent", {"width": 2, "iterations": 1}).eval()
    network.decoder.to_image.bias.data[0] = math.nan
    with pytest.raises(BadInputError, match="the network returned non-finite values"):
        restore(network, np.zeros((8, 8, 3), kind), RestoreParameters(), "cpu")


@pytest.mark.parametrize("value", NOT_FINITE)
@pytest.mark.parametrize("name", PROTOCOLS)
def test_no_protocol_scores_such_a_value(name, value):
    reference = np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8)
    broken = reference / 255
    broken[3, 4, 1] = value
    with pytest.raises(BadInputError, match="non-finite"):
        PROTOCOLS[name].score(broken, reference)


def test_a_test_image_restored_to_such_values_is_an_error_and_not_an_average():
    with pytest.raises(BadInputError, match="finite"):
        measured(lambda image: image * torch.nan, detailed=False)


@pytest.mark.parametrize("value", NOT_FINITE)
def test_non_finite_scores_are_not_averaged(value):
    with pytest.raises(BadInputError, match="non-finite"):
        mean_scores([{"psnr": 30.0}, {"psnr": value}])


def test_weights_are_not_chosen_by_such_a_validation():
    patches = Patches("f" * 64, SIZE, {"validation": RandomPatches()}, "deblur")
    with pytest.raises(RuntimeError, match="validation is not finite"):
        validate(lambda image: image * torch.nan, patches, 4, "cpu")
