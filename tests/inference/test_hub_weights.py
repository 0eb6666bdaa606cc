"""Weights travel over the Hugging Face Hub: a server here takes and gives what the Hub would."""

import base64
import hashlib
import json
import shutil

import numpy as np
import pytest
from click.testing import CliRunner

from idemnet.commands.main import main
from idemnet.errors import BadInputError
from idemnet.inference.find_weights import find_starter
from idemnet.inference.restorer import Restorer

from ..fetch.http_server import says

COMMIT = "c0ffee" * 6 + "cafe"
ADDRESS = "hf://owner/name"


def as_json(content):
    return says(200, {"Content-Type": "application/json"}, json.dumps(content).encode())


def request(handler):
    return handler.rfile.read(int(handler.headers["Content-Length"]))


def serve(hub, files):
    """Serve a repository: its newest commit, and that commit by its name."""
    for revision in ("main", COMMIT):
        for name, data in files.items():
            etag = hashlib.sha256(data).hexdigest()
            headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{etag}"'}
            hub.on(f"/owner/name/resolve/{revision}/{name}", says(200, headers, data))


def accept(hub):
    """Take a commit as the Hub does, and return the files that it brings."""
    files = {}

    def created(handler):
        assert json.loads(request(handler))["name"] == "name"
        as_json({"url": hub.on("/owner/name")})(handler)

    def validated(handler):
        assert request(handler)
        as_json({"errors": [], "warnings": []})(handler)

    def chosen(handler):
        paths = [file["path"] for file in json.loads(request(handler))["files"]]
        kept = [{"path": p, "uploadMode": "regular", "shouldIgnore": False} for p in paths]
        as_json({"files": kept})(handler)

    def committed(handler):
        for line in map(json.loads, request(handler).splitlines()):
            if line["key"] == "file":
                files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
        serve(hub, files)
        as_json({"commitUrl": hub.on(f"/owner/name/commit/{COMMIT}"), "commitOid": COMMIT})(handler)

    hub.on("/api/repos/create", created)
    hub.on("/api/validate-yaml", validated)
    hub.on("/api/models/owner/name/preupload/main", chosen)
    hub.on("/api/models/owner/name/commit/main", committed)
    return files


@pytest.fixture
def folder(tmp_path):
    """Weights with a picture beside them."""
    place = shutil.copytree(find_starter("deblur").parent, tmp_path / "weights")
    (place / "restored.jpg").write_bytes(b"a picture")
    return place


def push(*arguments):
    return CliRunner().invoke(main, ["weights", "push", *map(str, arguments)])


def published(folder):
    return {name: (folder / name).read_bytes() for name in ("card.json", "weights.safetensors")}


def same(one, other):
    picture = np.random.default_rng(0).integers(0, 256, (24, 32, 3), np.uint8)
    return (one(picture) == other(picture)).all()


def test_weights_that_were_pushed_restore_elsewhere_also_offline(hub, folder, tmp_path):
    files = accept(hub)
    result = push(folder, "--to", "owner/name")
    assert result.exit_code == 0, result.output
    assert result.output == f"{ADDRESS}@{COMMIT}\n"
    assert sorted(files) == ["README.md", "card.json", "restored.jpg", "weights.safetensors"]
    mine = Restorer.load(folder, device="cpu")
    assert same(mine, Restorer.load(ADDRESS, device="cpu"))
    assert same(mine, Restorer.load(f"{ADDRESS}@{COMMIT}", device="cpu"))
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    for name, data in files.items():
        (unpacked / name).write_bytes(data)
    assert same(mine, Restorer.load(unpacked, device="cpu"))
    asked = len(hub.seen)
    assert same(mine, Restorer.load(f"{ADDRESS}@{COMMIT}", device="cpu"))
    assert len(hub.seen) == asked  # a commit never changes
    hub.http.shutdown()
    hub.http.server_close()
    assert same(mine, Restorer.load(ADDRESS, device="cpu"))


def test_the_page_says_how_they_are_used_and_how_they_score(hub, folder):
    files = accept(hub)
    push(folder, "--to", "owner/name")
    page, card = files["README.md"].decode(), json.loads((folder / "card.json").read_bytes())
    score = card["scores"]["test"]
    assert page.startswith("---\nlibrary_name: idemnet\n")
    assert "![Before and after](restored.jpg)" in page
    assert f"idemnet restore photo.jpg --task deblur --weights {ADDRESS}" in page
    numbers = f"{score['psnr_input']:.2f} dB | {score['psnr']:.2f} dB"
    assert f"| test | gopro | {score['images']} | {numbers} |" in page
    assert card["sha256"] in page
    assert f"{card['parameters']:,} parameters" in page
    (folder / "restored.jpg").unlink()
    push(folder, "--to", "owner/name")
    assert "![" not in files["README.md"].decode()


def test_the_command_restores_with_weights_of_the_hub(hub, folder, tmp_path, monkeypatch):
    from PIL import Image

    serve(hub, published(folder))
    monkeypatch.chdir(tmp_path)
    Image.new("RGB", (32, 24), (9, 99, 199)).save("photo.png")
    result = CliRunner().invoke(main, ["restore", "photo.png", "--weights", ADDRESS])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "photo_restored.png").exists()


def test_other_weights_than_the_card_says_are_rejected(hub, folder):
    files = published(folder)
    serve(hub, {**files, "weights.safetensors": files["weights.safetensors"][:-1] + b"\0"})
    with pytest.raises(BadInputError, match="but its card was written for"):
        Restorer.load(ADDRESS)


def test_weights_and_card_are_of_one_commit(hub, folder):
    serve(hub, published(folder))
    hub.on("/owner/name/resolve/main/weights.safetensors", says(404))  # changed in between
    assert Restorer.load(ADDRESS, device="cpu").card["task"] == "deblur"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("hf://owner/name", "Repository Not Found"),
        ("hf://owner", "expected an address on the Hub"),
        ("hf://owner/name/weights.safetensors", "got the address of a file"),
    ],
)
def test_missing_files_are_reported_in_one_line(hub, address, said):
    hub.on("/owner/name/resolve/main/card.json", says(404, {"X-Error-Code": "RepoNotFound"}))
    with pytest.raises(BadInputError, match=said) as caught:
        Restorer.load(address)
    assert str(caught.value).startswith(f"{address}: ")
    assert "\n" not in str(caught.value)


def test_a_push_that_is_not_allowed_is_reported(hub, folder):
    for path in ("/api/repos/create", "/api/models/owner/name"):
        hub.on(path, says(401, {"X-Error-Message": "Invalid credentials"}))
    result = push(folder, "--to", "owner/name")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: owner/name: expected ")
    assert "401" in result.stderr
    assert "hf_secret" not in result.output


@pytest.mark.parametrize("to", ["name", "datasets/owner/name", "owner/name@v1", "a b/c"])
def test_only_a_model_repository_is_pushed_to(hub, folder, to):
    result = push(folder, "--to", to)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {to}: expected ")
    assert hub.seen == []
