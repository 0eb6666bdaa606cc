"""Mixed data: each source is prepared as it would be alone, and named in everything downstream."""

import copy
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from idemnet.datasets.pairs import PairsDataset
from idemnet.datasets.patches import PatchesDataset
from idemnet.datasets.raw import RawDataset
from idemnet.hooks.parameters import describe_faults
from idemnet.media.image_files import write_image
from idemnet.parameters.crop import CropParameters
from idemnet.parameters.source import SourceParameters
from idemnet.parameters.synthesize import BlurParameters
from idemnet.pipelines.crop import crop
from idemnet.pipelines.download import download
from idemnet.pipelines.train import held_out_images
from idemnet.steps.mix import identify
from idemnet.steps.publish import publish_mix
from idemnet.tasks import get_task
from idemnet.tasks.deblur import synthesize_blur
from idemnet.training.order import spread

from ..test_project import loader

SCENES = {"kind": "builtin", "builtin": {"train": 1, "validation": 1, "test": 1, "frames": 5,
                                         "height": 32, "width": 40}}  # fmt: skip
BLUR = BlurParameters(levels=(3, 5), stride=5)
CUT = CropParameters(size=24, stride=16, validation_fraction=0.5)


def real_pairs(folder: Path) -> dict:
    random = np.random.default_rng(0)
    for sequence in ("train/a_07_00", "train/b_07_00", "test/c_11_00"):
        for role in ("blur", "blur_gamma", "sharp"):
            image = random.integers(0, 256, (40, 50, 3), np.uint8)
            write_image(folder, f"{sequence}/{role}/1.png", image)
    return {"kind": "folder", "layout": "gopro", "folder": {"path": str(folder)}}


@pytest.fixture
def real(tmp_path) -> dict:
    return real_pairs(tmp_path / "real")


class Prepared:
    """The three datasets of a data set, filled by the pipeline's nodes."""

    def __init__(self, folder: Path, source: dict) -> None:
        self.folder = folder
        self.datasets = [
            kind(str(folder / layer / "deblur" / "set"))
            for kind, layer in ((RawDataset, "raw"), (PairsDataset, "pairs"), (PatchesDataset, "p"))
        ]
        raw, pairs, patches = self.datasets
        raw.save(download(SourceParameters.model_validate(source)))
        pairs.save(synthesize_blur(raw.load(), BLUR))
        patches.save(crop(pairs.load(), CUT))
        self.pairs, self.patches = pairs.load(), patches.load()

    def files(self, part: str = "") -> dict[str, bytes]:
        """Return every file of a part, by layer and name."""
        return {
            f"{place.parent.parent.name}/{path.relative_to(place / part)}": path.read_bytes()
            for place in (dataset.folder for dataset in self.datasets)
            for path in (place / part).rglob("*")
            if path.is_file()
        }


def mixed(real: dict, /, **changes) -> dict:
    parts = {"real": {**real, "weight": 3}, "scenes": SCENES}
    mix = {name: {**part, **changes.get(name, {})} for name, part in parts.items()}
    return {"kind": "mix", "mix": mix}


def without_place(files: dict[str, bytes]) -> dict[str, bytes]:
    """Leave out where the files of a folder that is used in place lie."""
    return {
        name: json.dumps({**json.loads(content), "root": ""}).encode()
        if name.endswith("manifest.json")
        else content
        for name, content in files.items()
    }


def test_a_part_has_the_bytes_that_its_source_alone_gives(tmp_path, real):
    mix = Prepared(tmp_path / "mix", mixed(real))
    for name, source in (("real", real), ("scenes", SCENES)):
        alone = Prepared(tmp_path / name, source)
        assert without_place(mix.files(name)) == without_place(alone.files())


def test_every_pair_and_patch_is_named_by_its_source(tmp_path, real):
    mix = Prepared(tmp_path, mixed(real))
    assert {pair.sequence for pair in mix.pairs.pairs if pair.split == "test"} == {
        "real/c_11_00", "scenes/scene_000",
    }  # fmt: skip
    assert mix.pairs.dataset == "real + scenes"
    assert mix.patches.weights == {"real": 3.0, "scenes": 1.0}
    train = mix.patches.splits["train"]
    for number, row in enumerate(train.rows):
        [pair] = [
            one for one in mix.pairs.pairs
            if (one.split, one.sequence, one.level) == ("train", row.sequence, row.level)
        ]  # fmt: skip
        window = np.s_[row.top : row.top + 24, row.left : row.left + 24]
        degraded, clean = train.read(number, 0, 0, 24)
        assert (degraded == pair.degraded()[window]).all()
        assert (clean == pair.clean()[window]).all()


def test_what_is_set_for_a_source_is_for_it_alone(tmp_path, real):
    changes = {
        "real": {"crop": {"validation_sequences": ["a_07_00"]}},
        "scenes": {"synthesize": {"levels": [5]}},
    }
    mix = Prepared(tmp_path, mixed(real, **changes))
    levels = {pair.level for pair in mix.pairs.pairs if pair.sequence.startswith("scenes")}
    assert levels == {5}
    held_out = {row.sequence for row in mix.patches.splits["validation"].rows}
    assert held_out == {"real/a_07_00", "scenes/scene_000"}


def test_another_weight_makes_no_part_again_but_another_fingerprint(tmp_path, real, caplog):
    caplog.set_level("INFO")
    before = Prepared(tmp_path, mixed(real))
    caplog.clear()
    after = Prepared(tmp_path, mixed(real, real={"weight": 5}))
    assert caplog.text.count("unchanged, nothing to do") == 6
    assert after.patches.fingerprint != before.patches.fingerprint
    assert after.patches.weights == {"real": 5.0, "scenes": 1.0}


def test_a_source_that_is_left_out_and_one_that_was_alone_leave_nothing(tmp_path, real):
    Prepared(tmp_path, SCENES)
    Prepared(tmp_path, mixed(real))
    only = {**mixed(real), "mix": {"real": real}}
    assert without_place(Prepared(tmp_path, only).files()) == without_place(
        Prepared(tmp_path / "new", only).files()
    )


def test_the_order_in_which_sources_are_written_changes_nothing(real):
    forward = mixed(real)
    backward = {**forward, "mix": dict(reversed(forward["mix"].items()))}
    one, other = (download(SourceParameters.model_validate(mix)) for mix in (forward, backward))
    assert list(one.parts) == list(other.parts)
    assert identify(one) == identify(other)


def test_a_mix_that_was_interrupted_is_not_published(tmp_path, real):
    mix = Prepared(tmp_path, mixed(real))
    raw = mix.datasets[0]

    def stop(folder, recipe):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        publish_mix(
            raw.folder, download(SourceParameters.model_validate(mixed(real, real={"weight": 2}))),
            stop,
        )  # fmt: skip
    assert not raw.exists()


def test_validation_takes_patches_in_proportion_to_the_weights(tmp_path, real):
    mix = Prepared(tmp_path, mixed(real))
    sequences = [row.sequence for row in mix.patches.splits["validation"].rows]
    assert len(spread(sequences, 4, {})) == 4
    chosen = spread(sequences, 4, {"real": 3.0, "scenes": 1.0})
    names = [sequences[number].split("/")[0] for number in chosen]
    assert names.count("real") == 3 and names.count("scenes") == 1


def test_validation_takes_whole_images_that_are_held_out_from_every_source(tmp_path, real):
    mix = Prepared(tmp_path, mixed(real))
    patches = {row.sequence for row in mix.patches.splits["validation"].rows}
    trained_on = {row.sequence for row in mix.patches.splits["train"].rows}
    images = held_out_images(mix.pairs, mix.patches, 4)
    held_out = {f"{pair.split}/{pair.sequence}" for pair in images}
    [sequence] = patches - {"scenes/scene_000"}
    assert held_out == {f"train/{sequence}", "validation/scenes/scene_000"}
    assert sequence not in trained_on
    assert all(pair.degraded().shape == (pair.height, pair.width, 3) for pair in images)
    assert held_out_images(mix.pairs, mix.patches, 0) == ()
    test = replace(mix.pairs, pairs=[one for one in mix.pairs.pairs if one.split == "test"])
    assert held_out_images(test, mix.patches, 4) == ()  # a study's own test set


FAULTS = {
    "no source": ({"mix": {}}, "kind is 'mix', so mix must name the sources"),
    "weight": ({"mix": {"a": {"weight": 0}}}, "mix.a.weight = 0: Input should be greater than 0"),
    "a mix in a mix": ({"mix": {"a": {"kind": "mix"}}}, "mix.a.kind = 'mix': Input should be"),
    "unknown key": ({"mix": {"a": {"wait": 1}}}, "mix.a.wait = 1: Extra inputs are not permitted"),
    "a name that leads out": ({"mix": {"../a": {}}}, "String should match pattern"),
    "synthesis": (
        {"mix": {"a": {"synthesize": {"levels": [5, 6]}}}},
        "source.mix.a.synthesize.levels.1 = 6: must be odd",
    ),
    "crop": (
        {"mix": {"a": {"crop": {"strid": 1}}}},
        "source.mix.a.crop.strid = 1: Extra inputs are not permitted",
    ),
    "another size": (
        {"mix": {"a": {"crop": {"size": 200, "stride": 8}}}},
        "source.mix.a.crop.size = 200 must be that of all, crop.size = 128",
    ),
    "too small": (
        {"mix": {"a": {"builtin": {"height": 100}}}},
        "crop.size = 128 must fit into the image: source.mix.a.builtin is 100x320",
    ),
    "too short": (
        {"mix": {"a": {"builtin": {"frames": 7}}}},
        "source.mix.a.builtin.frames = 7 must be at least the widest level, 15",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_mix_is_rejected_by_its_key_before_anything_runs(fault):
    changes, said = FAULTS[fault]
    parameters = copy.deepcopy(dict(loader("base")["parameters"]["deblur"]))
    parameters["source"] |= {"kind": "mix", **changes}
    [found] = describe_faults("deblur", get_task("deblur").parameters, parameters)
    assert said in found


def test_only_sources_of_the_mix_can_be_evaluated():
    parameters = copy.deepcopy(dict(loader("base")["parameters"]["deblur"]))
    parameters["evaluate"]["sources"] = ["gopro"]
    [found] = describe_faults("deblur", get_task("deblur").parameters, parameters)
    assert "evaluate.sources: not in source.mix: gopro" in found
