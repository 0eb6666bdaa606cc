"""A sequence with fewer frames than the window is rejected with both numbers; as many give one."""

import pytest
from kedro.io import DatasetError

from idemnet.imaging.blur import blur_sequence, find_centres
from idemnet.media.image_files import write_image
from idemnet.parameters.synthesize import BlurParameters
from idemnet.tasks.deblur import synthesize_blur

from ..imaging.test_blur import FakeSequence
from ..pipelines.test_synthesize import image, load_raw, pairs_dataset

WINDOW = 15


@pytest.mark.parametrize("length", [0, 1, WINDOW - 1])
def test_fewer_frames_than_the_window_are_rejected_with_both_numbers(length):
    with pytest.raises(ValueError, match=rf"has {length} frames, fewer than the window of 15"):
        find_centres(FakeSequence(length), BlurParameters())


@pytest.mark.parametrize("length", [WINDOW, WINDOW + 1])
def test_as_many_frames_as_the_window_give_exactly_one_image(length):
    sequence = FakeSequence(length)
    centres, _ = find_centres(sequence, BlurParameters(levels=(WINDOW,)))
    [(_, sharp, blurred)] = [
        (centre, sharp, list(blurred))
        for centre, sharp, blurred in blur_sequence(sequence, centres, "linear")
    ]
    assert sharp.shape == (5, 7, 3)
    assert [level for level, _ in blurred] == [WINDOW]


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_a_folder_of_frames_keeps_to_it(tmp_path, length):
    for number in range(length):
        write_image(tmp_path / "set", f"train/a/{number}.png", image(number))
    raw = load_raw(tmp_path, kind="folder", folder={"path": str(tmp_path / "set")})
    dataset = pairs_dataset(tmp_path)
    recipe = synthesize_blur(raw, BlurParameters(levels=(3,), stride=3))
    if length < 3:
        with pytest.raises(DatasetError, match=f"has {length} frames, fewer than the window of 3"):
            dataset.save(recipe)
    else:
        dataset.save(recipe)
        assert len(dataset.load().pairs) == 1
