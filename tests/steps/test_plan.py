"""A step's fingerprint is derived from its name, version and arguments; its work is not begun."""

import pickle
from dataclasses import dataclass

import pytest

from idemnet.parameters.crop import CropParameters
from idemnet.steps.plan import Plan, fingerprint, step


@dataclass(frozen=True)
class Handle:
    fingerprint: str


def lay_out(data: Handle, parameters: CropParameters) -> Plan:
    """Stop whoever calls it."""
    raise RuntimeError("laid out")


@step("cut", 2)
def cut(data: Handle, parameters: CropParameters) -> Plan:
    return lay_out(data, parameters)


def test_nothing_is_laid_out_before_it_is_needed():
    recipe = cut(Handle("a"), CropParameters())
    with pytest.raises(RuntimeError, match="laid out"):
        recipe.plan()


def test_the_fingerprint_is_of_parameters_and_inputs():
    assert cut(Handle("a"), CropParameters()).fingerprint == fingerprint(
        "cut", 2, CropParameters(), "a"
    )


def test_keyword_arguments_keep_their_place_and_none_counts_as_absent():
    """Published folders were identified so: another order would make them all again."""

    @step("use", 1)
    def use(data: Handle, more: Handle | None, *, expected: CropParameters) -> Plan:
        return Plan()

    recipe = use(Handle("a"), None, expected=CropParameters())
    assert recipe.fingerprint == fingerprint("use", 1, "a", CropParameters())


@pytest.mark.parametrize(
    "other",
    [
        cut(Handle("b"), CropParameters()),
        cut(Handle("a"), CropParameters(stride=100)),
        step("cut", 3)(lay_out)(Handle("a"), CropParameters()),
        step("slice", 2)(lay_out)(Handle("a"), CropParameters()),
        step("cut", 2, "numpy")(lay_out)(Handle("a"), CropParameters()),
    ],
    ids=["input", "parameter", "version", "name", "package"],
)
def test_each_of_its_parts_changes_it(other):
    assert other.fingerprint != cut(Handle("a"), CropParameters()).fingerprint


def test_a_step_can_be_sent_to_another_process():
    """As Kedro's ParallelRunner does."""
    assert pickle.loads(pickle.dumps(cut)) is cut
