def test_wrong_parameters_are_refused_before_anything_runs(project):
    project.set_parameters(
        {
            "deblur": {
                "source": {"builtin": {"height": -1, "colour": "red"}},
                "synthesize": {"levels": [5, 6]},
                "crop": {"size": 64, "stride": "wide"},
            },
            "debblur": {},
        }
    )
    refused = project.run("kedro", "run", check=False)
    assert refused.returncode == 1
    text = refused.stdout + refused.stderr
    for fault in (
        "deblur.source.builtin.height = -1: Input should be greater than or equal to 32",
        "deblur.source.builtin.colour = 'red': Extra inputs are not permitted",
        "deblur.synthesize.levels.1 = 6: must be odd, so that one frame stands in the middle",
        "deblur.crop.stride = 'wide': Input should be a valid integer",
        "debblur: is no task",
    ):
        assert fault in text, text
    assert "Traceback" not in text
    assert not (project.folder / "data").exists()


def test_a_patch_larger_than_the_image_is_refused_before_anything_runs(project):
    refused = project.run("kedro", "run", "--params=deblur.crop.size=49", check=False)
    assert refused.returncode == 1
    assert "crop.size = 49 must fit into the image: source.builtin is 48x64" in refused.stderr
    assert not (project.folder / "data").exists()
