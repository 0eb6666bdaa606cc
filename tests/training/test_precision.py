"""Mixed precision: what is computed in, and that training learns as it does in float32."""

from pathlib import Path

import pytest
import torch
from pydantic import ValidationError

from idemnet.parameters.train import TrainParameters
from idemnet.system.device import has_bfloat16, training_dtype

from .tiny import make_job, trained


@pytest.mark.parametrize("network", ["unet", pytest.param("dmphn", marks=pytest.mark.slow)])
def test_losses_in_bfloat16_stay_within_two_percent_of_float32(tmp_path, network):
    def losses(precision: str) -> list[float]:
        job = make_job(
            tmp_path / precision, model=network, mixed_precision=precision, epochs=17,
            gradient_clip=0.1, single_pass_epochs=8, validation_epochs=17,
        )  # fmt: skip
        assert job.steps >= 50
        return [epoch["total"] for epoch in trained(job)["history"]]

    full, mixed = losses("off"), losses("bf16")
    assert mixed != full, "bfloat16 rounds: equal losses would mean that it was not used"
    assert mixed == pytest.approx(full, rel=0.02)


def test_auto_takes_bfloat16_where_the_cpu_has_instructions_for_it():
    described = Path("/proc/cpuinfo")
    listed = has_bfloat16()  # elsewhere than on Linux, there is nobody else to ask
    if described.exists():
        listed = bool({"avx512_bf16", "amx_bf16"} & set(described.read_text().split()))
    assert has_bfloat16() == listed
    assert training_dtype("auto", "cpu") == (torch.bfloat16 if listed else torch.float32)


def test_the_card_and_the_record_say_what_was_computed_in(tmp_path):
    job = make_job(tmp_path, mixed_precision="bf16", epochs=1)
    trained(job)
    assert job.precision == job.tracker.tags["precision"] == "bfloat16"
    assert b'"precision": "bfloat16"' in job.tracker.artifacts["card.json"]


def test_off_is_taken_as_yaml_reads_it_and_unknown_names_are_rejected():
    assert TrainParameters(mixed_precision=False).mixed_precision == "off"
    with pytest.raises(ValidationError, match="'auto', 'bf16', 'fp16' or 'off'"):
        TrainParameters(mixed_precision="half")
