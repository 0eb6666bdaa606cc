"""An evaluation of some of the test images is spread over all of them, and changes no other."""

from idemnet.parameters.evaluate import EvaluateParameters
from idemnet.pipelines.evaluate import evaluate
from idemnet.steps.data import Pair, Pairs

from .step_results import Picture, network

PAIRS = Pairs(
    "f" * 64,
    [
        Pair("test", "s", str(number), 5, 32, 32, Picture(number, ""), Picture(99, ""))
        for number in range(9)
    ],
    "set",
)


def scored(parameters: EvaluateParameters) -> list[str]:
    plan = evaluate(PAIRS, network(), parameters).plan()
    return [name for job in plan.jobs for name in job.names if name.startswith("image")]


def test_all_test_images_are_scored_unless_a_number_is_given():
    parameters = EvaluateParameters(protocol="gopro", device="cpu")
    assert len(scored(parameters)) == 9
    assert len(scored(parameters.model_copy(update={"images": 5}))) == 5
    assert len(scored(parameters.model_copy(update={"images": 50}))) == 9


def test_all_images_leave_the_fingerprints_of_earlier_evaluations():
    parameters = EvaluateParameters(protocol="gopro")
    assert "images" not in parameters.model_dump(mode="json")
    some = parameters.model_copy(update={"images": 5})
    assert some.model_dump(mode="json")["images"] == 5
