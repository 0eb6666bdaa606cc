"""No name of a file, partition or data set escapes its folder, however it is written."""

from functools import partial

import numpy as np
import pytest
from click import ClickException

from idemnet.errors import BadInputError
from idemnet.fetch.address import file_name
from idemnet.hooks.parameters import check_dataset_name
from idemnet.media.image_files import write_image
from idemnet.steps.plan import Plan, Recipe
from idemnet.steps.publish import publish
from idemnet.storage.executor import Job

OUT = [
    "../x",
    "a/../../x",
    "/abs",
    "..\\x",
    "a\\..\\..\\x",
    "%2e%2e/x",
    "%2E%2e%2fx",
    "link/x",
]


def black(name, wanted):
    for one in wanted:
        yield one, np.zeros((2, 2, 3), np.uint8)


@pytest.mark.parametrize("name", OUT)
def test_no_partition_escapes_its_folder(tmp_path, name):
    (tmp_path / "deep/inside").mkdir(parents=True)
    (tmp_path / "deep/inside/link").symlink_to(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(BadInputError, match="leads out of"):
        write_image(tmp_path / "deep/inside", f"{name}.png", np.zeros((2, 2, 3), np.uint8))
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["..a", "a..", "a/..b/c", "100%", "a\\b", "%2e", "...", "~"])
def test_names_that_only_look_like_it_are_used_as_they_are(tmp_path, name):
    write_image(tmp_path / "inside", f"{name}.png", np.zeros((2, 2, 3), np.uint8))
    assert (tmp_path / "inside" / f"{name}.png").is_file()


def test_a_step_that_names_such_a_partition_publishes_nothing(tmp_path):
    recipe = Recipe("f" * 64, lambda: Plan([Job(("../../x.png",), partial(black, "x"))]))
    with pytest.raises(BadInputError, match="leads out of"):
        publish(tmp_path / "deep/set", recipe, write_image)
    assert not (tmp_path / "deep/set").exists()
    assert not list(tmp_path.rglob("x.png"))


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/abs", "..\\x", "%2e%2e/x", "..", ".", ""])
def test_no_data_set_escapes_its_task(name):
    """conf is trusted, but a slip in it must not write over what is beside data."""
    with pytest.raises(ClickException, match=r"dataset = .* must be the name of a folder"):
        check_dataset_name(name)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/x/GoPro%20Large.zip?a=b.zip", "GoPro_Large.zip"),
        ("/..%2f..%2fetc%2fpasswd", "passwd"),
        ("/%2e%2e", "archive.zip"),
        ("/.hidden", "hidden"),
        ("/a%00b%0a.zip", "a_b_.zip"),
        ("", "archive.zip"),
        ("/" + "a" * 300 + ".zip", "a" * 116 + ".zip"),
    ],
)
def test_name_of_the_file_is_safe(path, name):
    assert file_name(f"https://ann:pass@host{path}") == name
