"""Released DMPHN weights come in whole or not at all, and never as code."""

import json
import re
import shlex
import sys

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from idemnet import Restorer
from idemnet.commands.main import main
from idemnet.errors import BadInputError
from idemnet.inference.find_weights import find_starter
from idemnet.inference.import_weights import import_dmphn
from idemnet.inference.receptive_field import measure_overlap
from idemnet.inference.weights import read_weights
from idemnet.models import DMPHN, build_network, load_weights
from idemnet.models.cost import count_macs
from idemnet.models.dmphn import released_names
from idemnet.parameters.network import DMPHNParameters
from idemnet.studies.parts.published import PUBLISHED

from ..conftest import REPOSITORY

WIDTH = 2


def release(folder, network: DMPHN, stack: int = 1, *, zipped: bool = False) -> None:
    """Write a network as DMPHN's authors do: torch.save of each part's state dict."""
    folder.mkdir()
    state = network.state_dict()
    for file, names in released_names(stack).items():
        tensors = {theirs: state[ours] for theirs, ours in names.items()}
        torch.save(tensors, folder / file, _use_new_zipfile_serialization=zipped)


def random_network(stack: int = 1, width: int = WIDTH) -> DMPHN:
    torch.manual_seed(stack)
    return DMPHN(DMPHNParameters(stack=stack, width=width)).eval()


@pytest.fixture
def released(tmp_path):
    release(tmp_path / "released", random_network())
    return tmp_path / "released"


def change(path, **tensors) -> None:
    """Set tensors of a released file; None removes one."""
    state = torch.load(path, weights_only=True)
    for name, tensor in tensors.items():
        state[name] = tensor
    torch.save({name: tensor for name, tensor in state.items() if tensor is not None}, path)


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("stack", [1, 2])
def test_an_imported_network_restores_as_the_released_one(tmp_path, stack, zipped):
    network = random_network(stack)
    release(tmp_path / "released", network, stack, zipped=zipped)
    import_dmphn(tmp_path / "released", tmp_path / "out", width=WIDTH)
    weights, card = read_weights(tmp_path / "out" / "weights.safetensors")
    assert card["task"] == "deblur" and card["source"] == "imported from released"
    assert card["arguments"]["stack"] == stack
    assert card["tile_overlap"] == measure_overlap(network, "cpu")
    ours = build_network(card["architecture"], card["arguments"]).eval()
    load_weights(ours, weights, "imported")
    image = torch.rand(1, 3, 20, 30)
    with torch.no_grad():
        assert torch.equal(ours(image), network(image))


def test_released_keys_are_those_of_the_authors_files():
    [encoder, decoder] = (released_names(1)[f"{part}_lv3.pkl"] for part in ("encoder", "decoder"))
    assert encoder["layer1.weight"] == "stacks.0.2.encoder.0.weight"
    assert encoder["layer5.bias"] == "stacks.0.2.encoder.3.bias"
    assert encoder["layer11.2.weight"] == "stacks.0.2.encoder.8.body.2.weight"
    assert decoder["layer13.0.weight"] == "stacks.0.2.decoder.0.body.0.weight"
    assert decoder["layer16.weight"] == "stacks.0.2.decoder.2.weight"
    assert decoder["layer24.bias"] == "stacks.0.2.decoder.8.bias"
    assert "encoder_s4_lv3.pkl" in released_names(4)


@pytest.mark.parametrize(
    ("tensors", "complaint"),
    [
        ({"layer5.bias": None}, r"encoder_lv2\.pkl: layer5\.bias is missing"),
        ({"layer4.0.bias": torch.zeros(2)}, r"encoder_lv2\.pkl: layer4\.0\.bias is unexpected"),
        ({"layer1.bias": torch.zeros(3)}, r"layer1\.bias has shape \(3,\), not \(2,\)"),
        (
            {"layer1.bias": torch.full((2,), torch.nan)},
            r"layer1\.bias has non-finite values",
        ),
        ({"layer1.bias": torch.zeros(2, dtype=torch.int64)}, r"layer1\.bias is not a tensor of"),
        ({"layer1.bias": 1.0}, r"layer1\.bias is not a tensor of"),
    ],
)
def test_tensors_that_do_not_fit_are_named(tmp_path, released, tensors, complaint):
    change(released / "encoder_lv2.pkl", **tensors)
    with pytest.raises(BadInputError, match=complaint):
        import_dmphn(released, tmp_path / "out", width=WIDTH)
    assert not (tmp_path / "out").exists()


def test_a_missing_file_is_named(tmp_path, released):
    (released / "decoder_lv4.pkl").unlink()
    with pytest.raises(BadInputError, match=r"decoder_lv4\.pkl: not found"):
        import_dmphn(released, tmp_path / "out", width=WIDTH)


def test_a_list_is_no_state_dict(tmp_path, released):
    torch.save([torch.zeros(2)], released / "encoder_lv1.pkl")
    with pytest.raises(BadInputError, match="expected a state dict, found a list"):
        import_dmphn(released, tmp_path / "out", width=WIDTH)


def test_a_folder_with_other_things_is_not_replaced(tmp_path, released):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("three years")
    with pytest.raises(BadInputError, match=r"not replaced, because it also contains thesis\.tex"):
        import_dmphn(released, tmp_path / "out", width=WIDTH)
    assert (tmp_path / "out" / "thesis.tex").read_text() == "three years"


def test_weights_that_were_there_are_replaced(tmp_path, released):
    import_dmphn(released, tmp_path / "out", width=WIDTH)
    before = (tmp_path / "out" / "weights.safetensors").read_bytes()
    change(released / "encoder_lv1.pkl", **{"layer1.bias": torch.ones(2)})
    import_dmphn(released, tmp_path / "out", width=WIDTH)
    assert (tmp_path / "out" / "weights.safetensors").read_bytes() != before


def test_the_command_writes_weights_and_a_card(tmp_path):
    release(tmp_path / "released", random_network(width=32))
    out = tmp_path / "out"
    command = ["weights", "import", "dmphn", str(tmp_path / "released"), "-o", str(out)]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    assert str(out / "weights.safetensors") in result.output
    assert json.loads((out / "card.json").read_text())["parameters"] == 7_232_524


def test_the_command_says_what_is_wrong_in_one_sentence(released):
    result = CliRunner().invoke(main, ["weights", "import", "dmphn", str(released), "-o", "out"])
    assert result.exit_code == 2
    assert "encoder_lv1.pkl: layer1.weight has shape (2, 3, 3, 3), not (32, 3, 3, 3)" in (
        result.output
    )
    assert len(result.output.splitlines()) == 1


PAGE = (REPOSITORY / "docs/peers.md").read_text()
PEER = """
from torch import nn


class MPRNet(nn.Module):
    def __init__(self, n_feat):
        super().__init__()
        self.body = nn.Conv2d(3, 3 * n_feat, 3, padding=1)

    def forward(self, image):
        assert image.shape[-2] % 8 == image.shape[-1] % 8 == 0
        return [self.body(image)[:, :3], image]
"""


@pytest.fixture
def peers(tmp_path, monkeypatch):
    """The adapter of docs/peers.md, beside a peer that needs it; returns its network."""
    [adapter] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "MPRNet.py").write_text(PEER)
    (tmp_path / "peers.py").write_text(adapter)
    monkeypatch.syspath_prepend(tmp_path)
    yield build_network("peers:Adapted", {"n_feat": 8}).eval()
    for name in ("MPRNet", "peers"):
        sys.modules.pop(name, None)


WRAPPED = {
    "plain": lambda state: state,
    "params": lambda state: {"params": state},
    "state_dict": lambda state: {"epoch": 3, "state_dict": state, "optimizer": {"lr": 0.1}},
    "DataParallel": lambda state: {"state_dict": {f"module.{key}": state[key] for key in state}},
}


@pytest.mark.parametrize("wrap", WRAPPED.values(), ids=WRAPPED)
def test_a_peer_restores_as_released_by_the_documented_commands(tmp_path, monkeypatch, peers, wrap):
    monkeypatch.chdir(tmp_path)
    torch.save(wrap(peers.state_dict()), "FILE.pth")
    [command, _] = re.findall(r"^idemnet (.*(?:FILE|peers).*)$", PAGE, re.MULTILINE)
    result = CliRunner().invoke(main, shlex.split(command))
    assert result.exit_code == 0, result.output
    place = tmp_path / "data/06_models/imported/mprnet"
    card = json.loads((place / "card.json").read_text())
    assert (card["architecture"], card["arguments"]) == ("peers:Adapted", {"n_feat": 8})
    with pytest.raises(BadInputError, match="if you trust its code, use --network peers:Adapted"):
        Restorer.load(place)
    restore = Restorer.load(place, network="peers:Adapted", device="cpu")
    image = np.random.default_rng(0).integers(0, 256, (13, 21, 3), np.uint8)
    with torch.no_grad():
        expected = peers(torch.from_numpy(image).permute(2, 0, 1)[None] / 255)[0]
    expected = (255 * expected.permute(1, 2, 0)).round().clamp(0, 255).byte().numpy()
    assert (restore(image) == expected).all()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["peers:Adapted", "--arguments", '{"n_feat": 4}'], "body.weight is (24, 3, 3, 3) instead"),
        (["peers:Adapted", "--arguments", "n_feat"], "--arguments must be a JSON object"),
        (["peers:Nothing"], "has no attribute 'Nothing'"),
        (["os:system"], "is not a torch.nn.Module"),
        (["nafnet"], "neither dmphn nor PACKAGE.MODULE:CLASS"),
        (["peers:Adapted", "--stack", "4"], "--stack is for dmphn"),
    ],
)
def test_what_cannot_be_imported_is_said_and_nothing_is_written(tmp_path, peers, options, said):
    torch.save(peers.state_dict(), tmp_path / "FILE.pth")
    model, *more = options
    out = tmp_path / "out"
    command = ["weights", "import", model, str(tmp_path / "FILE.pth"), "--to", str(out), *more]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 2
    assert said in result.output
    assert not out.exists()


def test_published_and_counted_numbers_of_the_page_are_those_of_the_studies():
    for name, parameters, macs, _, psnr in PUBLISHED.rows[:-1]:
        assert f"| {name} | {parameters} | {macs} | {psnr} |".replace("|  |", "| |") in PAGE
    card = json.loads(find_starter("deblur").with_name("card.json").read_text())
    network = build_network(card["architecture"], card["arguments"])
    row = f"{card['parameters']:,} | {count_macs(network, 256, 256) / 1e9:.1f} | "
    test = card["scores"]["test"]
    assert test["images"] == 186, "docs/peers.md: measured here"
    assert f"{row}{test['psnr']:.2f} |" in PAGE
    assert f"| blurred | | | {test['psnr_input']:.2f} |" in PAGE
