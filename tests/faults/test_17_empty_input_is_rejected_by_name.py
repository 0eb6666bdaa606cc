"""A folder or archive without usable files is rejected by name, and nothing is written."""

import zipfile

import pytest
import yaml
from kedro.io import DatasetError

from idemnet.errors import BadInputError
from idemnet.pipelines.download import download

from ..fetch.archives import refused
from ..fetch.test_sources import raw_dataset, source


def test_the_command_leaves_with_one(project):
    empty = project.folder / "my frames"
    (empty / "train").mkdir(parents=True)
    (empty / ".hidden.png").write_bytes(b"x")
    settings = {"deblur": {"source": {"kind": "folder", "folder": {"path": str(empty)}}}}
    (project.folder / "conf/local/parameters_deblur.yml").write_text(yaml.safe_dump(settings))
    run = project.run("kedro", "run", "--pipeline=prepare_deblur", check=False)
    assert run.returncode == 1
    assert f"{empty}: no file matches SPLIT/SEQUENCE/FRAME.png; it has no" in run.stderr
    assert "Traceback" not in run.stderr
    assert project.bytes_below() == {}


@pytest.mark.parametrize("content", ["nothing", "hidden", "subfolder"])
def test_an_empty_folder_is_rejected_by_name(tmp_path, content):
    folder = tmp_path / "empty"
    folder.mkdir()
    if content == "hidden":
        (folder / ".hidden.png").write_bytes(b"x")
    if content == "subfolder":
        (folder / "train").mkdir()
    recipe = download(source(kind="folder", folder={"path": str(folder)}))
    with pytest.raises(DatasetError, match=r"empty: no file matches SPLIT/SEQUENCE/FRAME\.png"):
        raw_dataset(tmp_path).save(recipe)
    assert not (tmp_path / "raw").exists()
    with pytest.raises(BadInputError, match=r"empty: contains no videos"):
        download(source(kind="videos", videos={"path": str(folder)}))


def test_a_folder_that_does_not_exist_is_rejected_by_name(tmp_path):
    with pytest.raises(BadInputError, match="nowhere: is not a folder"):
        download(source(kind="folder", folder={"path": "/nowhere"}))


def test_archive_without_a_file_is_rejected(tmp_path):
    path = tmp_path / "a.zip"
    for names in ((), ("folder/", "__MACOSX/._x")):
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, b"")
        assert "contains no files" in refused(path)
