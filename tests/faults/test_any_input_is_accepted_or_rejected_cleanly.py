"""Any name, size, window, parameter or truncation is accepted, or rejected with a clear error."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from idemnet.errors import BadInputError
from idemnet.fetch.address import file_name
from idemnet.hooks.parameters import describe_faults
from idemnet.imaging.blur import find_centres
from idemnet.media.photo import Metadata, Photo
from idemnet.media.read_photo import decode_photo
from idemnet.media.write_photo import encode_photo
from idemnet.parameters.synthesize import BlurParameters
from idemnet.storage.atomic import path_inside, write_atomic
from idemnet.storage.journal import read_journals
from idemnet.tasks import get_task
from idemnet.tracking.checkpoints import Checkpoints

from ..conftest import REPOSITORY, mlflow_tables
from ..tracking.stores import recorded

NAME = "f" * 64
PARTS = st.sampled_from(
    ["..", ".", "a", "/", "\\", "C:", "~", "%2e", "\0", "\n", "ü", "", "x" * 300]
)
NAMES = st.text(max_size=20) | st.lists(PARTS, max_size=6).map("/".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("any")


@given(name=NAMES)
def test_no_name_escapes_a_folder(folder, name):
    inside = folder / "inside"
    inside.mkdir(exist_ok=True)
    before = {path.name for path in folder.iterdir()}
    try:
        write_atomic(path_inside(inside, name), [b"x"])
    except (BadInputError, IsADirectoryError, NotADirectoryError, FileExistsError):
        pass
    finally:
        assert {path.name for path in folder.iterdir()} == before
        shutil.rmtree(inside)


@given(path=st.text(max_size=30))
def test_what_an_address_names_is_one_plain_file(path):
    name = file_name(f"https://host.example/{path}")
    assert name not in ("", ".", "..") and not set(name) & set("/\\\0\n")
    assert len(name.encode()) < 256 and Path(name).name == name


@pytest.mark.usefixtures("patience")
@settings(max_examples=10)
@given(cut=st.integers(0, 10**9))
def test_a_store_of_mlflow_cut_anywhere_stops_no_training(folder, cut):
    store = Path(shutil.copy(mlflow_tables(), folder))
    os.truncate(store, cut % store.stat().st_size)
    with recorded(store) as run:
        run.log(0, {"loss": 1.0})


@given(cut=st.integers(0, 10**9))
def test_work_cut_anywhere_is_resumed_from_the_last_whole_item(folder, cut):
    lines = [json.dumps([f"ü{number}\n", [number, "0" * number]]) + "\n" for number in range(4)]
    whole = "".join(lines).encode()
    kept = whole[: cut % (len(whole) + 1)]
    path = folder / "jobs.jsonl"
    path.write_bytes(kept)
    done = kept.count(b"\n")
    assert list(read_journals(path)) == [f"ü{number}\n" for number in range(done)]


@settings(max_examples=50)
@given(cut=st.integers(0, 10**9))
def test_a_checkpoint_cut_anywhere_gives_way_to_the_one_before(folder, cut):
    store = Checkpoints(folder / "checkpoints")
    shutil.rmtree(store.folder, ignore_errors=True)
    for step in (1, 2):
        store.save(NAME, step, {"step": step, "w": torch.zeros(3)})
    newest = max((store.folder / NAME[:16]).glob("*.pt"))
    data = newest.read_bytes()
    newest.write_bytes(data[: cut % len(data)])
    assert store.load(NAME)["step"] == 1


@given(
    size=st.tuples(st.integers(1, 40), st.integers(1, 40)), channels=st.integers(1, 4),
    deep=st.booleans(), suffix=st.sampled_from([".png", ".tif", ".bmp"]),
)  # fmt: skip
def test_a_picture_of_any_size_comes_back(size, channels, deep, suffix):
    dice = np.random.default_rng(size)
    kind = np.uint16 if deep and suffix != ".bmp" else np.uint8
    values = dice.integers(0, np.iinfo(kind).max + 1, (*size, 4), kind)
    grey, alpha = channels < 3, values[:, :, 3] if channels in (2, 4) else None
    pixels = values[:, :, [0, 0, 0]] if grey else values[:, :, :3]
    if suffix == ".bmp" or (grey and deep):  # have no transparency
        alpha = None
    back = decode_photo(
        encode_photo(Photo(pixels, alpha, grey, Metadata(None, None, None)), suffix), f"a{suffix}"
    )
    assert (back.pixels == pixels).all() and back.grey == grey
    assert (back.alpha is None) == (alpha is None)
    assert alpha is None or (back.alpha == alpha).all()


@given(
    length=st.integers(0, 60), stride=st.integers(1, 30),
    levels=st.sets(st.integers(0, 20).map(lambda n: 2 * n + 1), min_size=1).map(sorted),
)  # fmt: skip
def test_windows_fit_or_the_sequence_is_rejected_with_both_numbers(length, stride, levels):
    class Sequence:
        name, frames = "film", range(length)

    parameters = BlurParameters(levels=tuple(levels), stride=stride)
    try:
        centres, left_out = find_centres(Sequence(), parameters)
    except BadInputError as error:
        assert length < levels[-1]
        assert f"{length} frames" in str(error) and f"window of {levels[-1]}" in str(error)
        return
    assert length >= levels[-1] and left_out >= 0
    for centre in centres:
        assert centre.first >= 0 and centre.last < length


def keys(tree: dict, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in tree.items():
        yield (*above, key)
        if isinstance(value, dict):
            yield from keys(value, (*above, key))


DEFAULTS = yaml.safe_load((REPOSITORY / "conf/base/parameters_deblur.yml").read_text())["deblur"]
"""Right as they are: what is then found fault with is what was changed."""


@settings(max_examples=300)
@given(place=st.sampled_from([*keys(DEFAULTS)]) | st.tuples(st.text(max_size=5)), value=VALUES)
def test_any_value_of_a_parameter_is_taken_or_named_with_its_key(place, value):
    changed = json.loads(json.dumps(DEFAULTS))
    group = changed
    for key in place[:-1]:
        group = group[key]
    group[place[-1]] = value
    for fault in describe_faults("deblur", get_task("deblur").parameters, changed):
        assert fault.startswith("  deblur") and ": " in fault
        assert place[0] in fault


def test_the_defaults_have_no_fault():
    assert describe_faults("deblur", get_task("deblur").parameters, DEFAULTS) == []
