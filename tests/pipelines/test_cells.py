"""The cells of a study take weights from elsewhere, but no code."""

from typing import Any

import pytest

from idemnet.errors import BadInputError
from idemnet.parameters.evaluate import EvaluateParameters
from idemnet.parameters.study import StudyParameters
from idemnet.parameters.train import TrainParameters
from idemnet.pipelines.cells import StudyRun
from idemnet.steps.services import StudyStores
from idemnet.studies import get_study


class Store:
    def initial_weights(self, name: str, task: str) -> tuple[dict, dict]:
        return {}, {"architecture": "peers:Adapted", "arguments": {}}


@pytest.mark.parametrize("model", [None, "other:Network", "peers:Adapted"])
def test_a_card_cannot_choose_code_that_the_configuration_does_not_name(model):
    cell = {"weights": "imported", "train": {"model": model} if model else None}
    study = get_study("peers")
    parameters = StudyParameters.model_validate({"cells": {"nafnet": cell}})
    missing: Any = None
    run = StudyRun(
        study, parameters, missing, missing, TrainParameters(),
        EvaluateParameters(protocol="gopro"), StudyStores(Store(), missing, missing, missing),
    )  # fmt: skip
    [nafnet] = [one for one in study.cells if one.name == "nafnet"]
    if model == "peers:Adapted":
        assert run._train(nafnet, 0).card["architecture"] == model
        return
    with pytest.raises(BadInputError, match=r"set study\.cells\.nafnet\.train\.model to it"):
        run._train(nafnet, 0)
