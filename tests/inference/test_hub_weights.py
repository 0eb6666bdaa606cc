"""Weights travel over the Hugging Face Hub: a server here takes and gives what the Hub would."""

import base64
import hashlib
import io
import json
import shutil

import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from huggingface_hub import constants
from PIL import Image

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


def accept(hub, *, large=()):
    """Take a commit as the Hub does, and return the files; `large` ones come through LFS."""
    files, stored = {}, {}

    def created(handler):
        assert json.loads(request(handler))["name"] == "name"
        as_json({"url": hub.on("/owner/name")})(handler)

    def validated(handler):
        assert request(handler)
        as_json({"errors": [], "warnings": []})(handler)

    def chosen(handler):
        paths = [file["path"] for file in json.loads(request(handler))["files"]]
        modes = {path: "lfs" if path in large else "regular" for path in paths}
        kept = [{"path": p, "uploadMode": m, "shouldIgnore": False} for p, m in modes.items()]
        as_json({"files": kept})(handler)

    def offered(handler):
        objects = json.loads(request(handler))["objects"]
        for one in objects:
            href = hub.on(f"/lfs/{one['oid']}", put)
            one["actions"] = {"upload": {"href": href}}
        as_json({"transfer": "basic", "objects": objects})(handler)

    def put(handler):
        data = request(handler)
        stored[hashlib.sha256(data).hexdigest()] = data
        says(200)(handler)

    def committed(handler):
        for line in map(json.loads, request(handler).splitlines()):
            if line["key"] == "file":
                files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
            if line["key"] == "lfsFile":
                files[line["value"]["path"]] = stored[line["value"]["oid"]]
        serve(hub, files)
        as_json({"commitUrl": hub.on(f"/owner/name/commit/{COMMIT}"), "commitOid": COMMIT})(handler)

    hub.on("/api/repos/create", created)
    hub.on("/api/validate-yaml", validated)
    hub.on("/api/models/owner/name/preupload/main", chosen)
    hub.on("/api/models/owner/name/commit/main", committed)
    hub.on("/owner/name.git/info/lfs/objects/batch", offered)
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


def test_large_files_go_through_lfs(hub, folder, monkeypatch):
    """As the Hub asks for; its newer storage, Xet, has no server to test with."""
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    files = accept(hub, large=["weights.safetensors", "restored.jpg"])
    result = push(folder, "--to", "owner/name")
    assert result.exit_code == 0, result.output
    for name in ("weights.safetensors", "restored.jpg"):
        assert files[name] == (folder / name).read_bytes()
    assert same(Restorer.load(folder, device="cpu"), Restorer.load(ADDRESS, device="cpu"))


def test_the_page_of_a_project_s_weights_has_their_evaluation(hub, trained):
    files = accept(hub)
    result = push(trained.folder / "data/06_models/deblur/builtin", "--to", "owner/name")
    assert result.exit_code == 0, result.output
    page, card = files["README.md"].decode(), json.loads(files["card.json"])
    metrics = json.loads(
        (trained.folder / "data/08_reporting/deblur/builtin/metrics.json").read_bytes()
    )
    before, after = metrics["input"]["psnr"], metrics["restored"]["psnr"]
    row = f"| test (builtin) | gopro | {metrics['images']} | {before:.2f} dB | {after:.2f} dB |"
    assert row in page
    assert "PSNR after each pass: " in page
    assert "| data set | builtin |" in page
    assert "'china': danielbuechele (Flickr), CC BY 2.0" in page  # licence of the photograph
    assert card["scores"]["test"]["psnr"] == after
    assert card["scores"]["test"]["psnr_by_pass"] == metrics["repeat"]["psnr"]
    assert "![Before and after](restored.jpg)" in page
    with Image.open(io.BytesIO(files["restored.jpg"])) as picture:
        assert picture.size == (2 * 64, 48)


def test_scores_of_other_weights_are_not_published(hub, copied):
    place = copied.folder / "data/06_models/deblur/builtin"
    for name, data in published(find_starter("deblur").parent).items():
        (place / name).write_bytes(data)
    before = json.loads((place / "card.json").read_bytes())["scores"]
    files = accept(hub)
    result = push(place, "--to", "owner/name")
    assert result.exit_code == 0, result.output
    assert "scores of other weights, not published" in result.stderr
    assert json.loads(files["card.json"])["scores"] == before
    assert "builtin" not in files["README.md"].decode()
    assert sorted(files) == ["README.md", "card.json", "weights.safetensors"]


def test_the_page_names_licence_credit_and_data_set_of_the_download(hub, copied):
    raw = copied.folder / "data/01_raw/deblur/builtin/manifest.json"
    manifest = json.loads(raw.read_bytes())
    known = {"licence": "CC BY 4.0", "credit": "Nah et al.", "hub": "snah/GOPRO_Large"}
    raw.write_text(json.dumps({**manifest, "files": {}, "about": {**manifest["about"], **known}}))
    files = accept(hub)
    push(copied.folder / "data/06_models/deblur/builtin", "--to", "owner/name")
    page = files["README.md"].decode()
    assert yaml.safe_load(page.split("---")[1])["datasets"] == ["snah/GOPRO_Large"]
    assert "| licence of the data | CC BY 4.0 |\n| credit | Nah et al. |" in page
    assert "license:" not in page  # of the weights: not known


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
