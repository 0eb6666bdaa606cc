from idemnet.reporting.comparison import draw_repeat_curves, tabulate, warn
from idemnet.steps.data import TrackedRun


def run(name, psnr, curve=(), tags=None, **parameters):
    metrics = {"test/input/psnr": 25.0, "test/restored/psnr": psnr, "test/images": 48.0}
    return TrackedRun(
        name, f"{name}-id", {"task": "deblur", "dataset": "builtin", **(tags or {})},
        parameters, metrics, {"test/repeat/psnr": list(enumerate(curve, 1))} if curve else {},
    )  # fmt: skip


RUNS = [
    run("with", 27.5, (27.5, 27.4), seed="0", passes="2", width="12"),
    run("without", 28.0, (28.0, 20.0), seed="0", passes="1"),
]


def test_runs_stand_side_by_side_with_what_was_set_differently():
    table = {row[0]: row[1:] for row in tabulate(RUNS)}
    assert table[""] == ["with", "without"]
    assert table["restored PSNR"] == ["27.50 dB", "28.00 dB"]
    assert table["gain"] == ["+2.50 dB", "+3.00 dB"]
    assert table["lost by repeating"] == ["0.10 dB in 2 passes", "8.00 dB in 2 passes"]
    assert table["passes"] == ["2", "1"]
    assert table["width"] == ["12", "-"]
    assert "seed" not in table
    assert table["seconds per image"] == ["-", "-"]


def test_a_run_that_was_not_evaluated_has_no_figures():
    bare = TrackedRun("bare", "0", {}, {}, {}, {})
    table = {row[0]: row[1:] for row in tabulate([bare])}
    assert table["gain"] == table["lost by repeating"] == ["-"]
    assert b"<svg" in draw_repeat_curves([bare], "svg")


def test_figures_that_do_not_compare_come_with_a_warning():
    assert warn(RUNS) is None
    not_evaluated = TrackedRun("bare", "0", {"task": "deblur"}, {}, {}, {})
    assert warn([*RUNS, not_evaluated]) is None
    other = run("other", 30.0, tags={"dataset": "gopro"})
    assert "differ in dataset" in warn([*RUNS, other])


def test_curves_are_overlaid_and_named():
    drawn = draw_repeat_curves(RUNS, "svg").decode()
    assert drawn.count("<!-- with") == 2  # "with" and "without" in the legend
    assert draw_repeat_curves(RUNS, "png").startswith(b"\x89PNG")
