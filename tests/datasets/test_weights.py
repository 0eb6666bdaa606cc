"""Weights are stored with a card; mismatches are rejected by name."""

import json
from dataclasses import replace

import pytest
import torch
from kedro.io import DatasetError

from idemnet.datasets.weights import WeightsDataset
from idemnet.errors import BadInputError
from idemnet.inference.network import Network
from idemnet.inference.weights import TrainedModel, read_weights
from idemnet.models import build_network, load_weights

MODEL = build_network("idempotent", {"width": 4, "iterations": 1})


@pytest.fixture
def folder(tmp_path):
    dataset = WeightsDataset(str(tmp_path / "deblur" / "set"))
    card = {"task": "deblur", "architecture": "idempotent", "fingerprint": "a" * 64}
    dataset.save(TrainedModel(MODEL.state_dict(), card, [{"epoch": 0, "sharp_1": 0.5}]))
    return tmp_path / "deblur" / "set"


def test_what_is_saved_comes_back(folder):
    trained = WeightsDataset(str(folder)).load()
    assert trained.card["task"] == "deblur" and trained.history == [{"epoch": 0, "sharp_1": 0.5}]
    for name, tensor in MODEL.state_dict().items():
        assert torch.equal(trained.weights[name], tensor)
    assert {path.name for path in folder.iterdir()} == {
        "weights.safetensors", "card.json", "history.json",
    }  # fmt: skip


def test_saving_the_same_again_writes_nothing(folder, caplog):
    before = (folder / "card.json").stat().st_mtime_ns
    dataset = WeightsDataset(str(folder))
    with caplog.at_level("INFO"):
        dataset.save(dataset.load())
    assert "unchanged" in caplog.text
    assert (folder / "card.json").stat().st_mtime_ns == before


@pytest.mark.parametrize("name", ["weights.safetensors", "card.json", "history.json"])
@pytest.mark.parametrize("content", [None, b"edited"])
def test_what_was_deleted_or_edited_is_written_again_with_a_warning(folder, caplog, name, content):
    dataset = WeightsDataset(str(folder), made_by="kedro run x")
    trained = dataset.load()
    before = (folder / name).read_bytes()
    (folder / name).unlink() if content is None else (folder / name).write_bytes(content)
    with pytest.raises(DatasetError, match="make it again with: kedro run x"):
        dataset.load()
    dataset.save(trained)
    assert (folder / name).read_bytes() == before
    assert f"missing or changed: {name}; making the folder again" in caplog.text


def test_weights_of_another_training_replace_without_a_warning(folder, caplog):
    dataset = WeightsDataset(str(folder))
    trained = dataset.load()
    dataset.save(replace(trained, card={**trained.card, "fingerprint": "b" * 64}))
    assert dataset.load().card["fingerprint"] == "b" * 64
    assert caplog.text == ""


def test_a_flipped_byte_is_rejected_with_both_hashes(folder):
    path = folder / "weights.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    expected = json.loads((folder / "card.json").read_text())["sha256"]
    with pytest.raises(BadInputError, match=f"its card was written for {expected}"):
        read_weights(path)


def test_missing_parts_are_named(folder):
    (folder / "card.json").unlink()
    with pytest.raises(BadInputError, match=r"card\.json: not found"):
        read_weights(folder / "weights.safetensors")
    (folder / "card.json").write_text("[]")
    with pytest.raises(BadInputError, match="not a valid card of weights"):
        read_weights(folder / "weights.safetensors")
    with pytest.raises(DatasetError, match="not a valid card"):
        WeightsDataset(str(folder)).load()


def test_tensors_that_do_not_fit_are_named():
    weights = dict(MODEL.state_dict())
    weights["extra"] = weights.pop("decoder.to_image.bias")
    with pytest.raises(
        BadInputError, match=r"decoder\.to_image\.bias is missing; extra is unexpected"
    ):
        load_weights(MODEL, weights, "x")
    other = build_network("idempotent", {"width": 6, "iterations": 1})
    with pytest.raises(
        BadInputError, match=r"is \(4, 3, 3, 3\) instead of \(6, 3, 3, 3\).* and \d+ more"
    ):
        load_weights(other, MODEL.state_dict(), "x")


def test_what_a_kill_left_behind_stops_no_later_one(folder):
    dataset = WeightsDataset(str(folder))
    trained = dataset.load()
    left = folder.with_name(".set.old")  # killed between the renames and the removal
    left.mkdir()
    (left / "card.json").write_text("{}")
    dataset.save(TrainedModel(trained.weights, {**trained.card, "more": 1}, []))
    assert dataset.load().card["more"] == 1
    assert [path.name for path in folder.parent.iterdir()] == ["set"]


def test_a_card_that_lies_about_the_network_builds_none(folder):
    trained = WeightsDataset(str(folder)).load()
    for card, said in (
        ({"architecture": "idempotent", "arguments": {"width": 512}}, "does not fit the network"),
        ({"architecture": "dmphn", "arguments": {"stack": 10**9}}, r"dmphn\.stack: Input should"),
        ({"architecture": "os.system", "arguments": {}}, r"os\.system: Extra inputs"),
        ({}, "card: "),
    ):
        with pytest.raises(BadInputError, match=said):
            Network.of(replace(trained, card=card)).build("cpu")


@pytest.mark.parametrize("overlap", [-1, 1025, 10**400, 64.0, True, "64", [64]])
def test_a_card_with_an_unusable_tile_overlap_is_rejected(folder, overlap):
    trained = WeightsDataset(str(folder)).load()
    with pytest.raises(BadInputError, match="tile_overlap: expected an integer from 0 to 1024"):
        Network.of(replace(trained, card={**trained.card, "tile_overlap": overlap}))
