"""The report: every file of it, for every task and size, with nothing made better than it is."""

import base64
import csv
import io
import json
import re
from dataclasses import replace

import cv2
import numpy as np
import pytest

from idemnet.evaluation.metrics import summarise
from idemnet.imaging.difference import difference
from idemnet.reporting import pictures
from idemnet.reporting import report as assembly
from idemnet.reporting.report import make_report
from idemnet.studies.gopro import PAPER as SCORES

from .example_results import SETTINGS, make_evaluation, make_trained

WITHOUT_LEVELS = {
    "metrics.json",
    "timing.json",
    "report.html",
    "images.csv",
    "repeat.csv",
    "training.csv",
} | {
    f"plots/{name}.{kind}"
    for name in ("repeat", "noise", "iterations", "training", "gains")
    for kind in ("svg", "png")
}
FILES = WITHOUT_LEVELS | {"plots/levels.svg", "plots/levels.png"}
NO_PLOTS = {name: b"<svg xmlns='http://www.w3.org/2000/svg'/>" for name in FILES if "svg" in name}


def page_of(evaluation=None, trained=None, others=(), **made) -> str:
    """Return the page with its line breaks folded."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assembly, "draw_plots", lambda *_: NO_PLOTS)  # they take most of the time
        files = make_report(
            evaluation or make_evaluation(**made), trained or make_trained(), others
        )
    return " ".join(files["report.html"].decode().split())


def other_run(name="other", *, passes=1, weight=0.0, change=None, **settings):
    evaluation = make_evaluation(loss=3.0)
    flat = {f"train.{key}": value for key, value in SETTINGS.items() if key != "network"}
    flat |= {"train.network.width": 4, "train.network.iterations": 2, "train.passes": passes,
             "train.idempotence_weight": weight}  # fmt: skip
    flat |= {f"train.{key}": value for key, value in settings.items()}
    metrics = summarise(evaluation).model_copy(update=change)
    return {"fingerprint": "c", "name": name, "parameters": flat, "metrics": metrics}


def read_csv(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode())))


@pytest.fixture(scope="module")
def report():
    return make_report(make_evaluation(), make_trained(), [])


def test_a_report_has_every_file(report):
    assert set(report) == FILES


def test_the_same_evaluation_gives_the_same_bytes(report):
    assert make_report(make_evaluation(), make_trained(), []) == report


def test_the_page_asks_nothing_of_the_outside(report):
    page = report["report.html"].decode()
    links = re.findall(r"(?:src|href)=\"([^\"]{0,20})", page)
    assert links
    assert all(link.startswith(("data:", "#")) for link in links)
    assert "default-src 'none'" in page
    assert not re.search(r"url\(|@import", page)


def test_tables_for_other_programs_hold_the_figures(report):
    evaluation = make_evaluation()
    images = read_csv(report["images.csv"])
    assert len(images) == len(evaluation.rows)
    first = evaluation.rows[0]
    assert images[0]["sequence"] == first.sequence
    assert float(images[0]["input_ssim_matlab"]) == first.input.ssim_matlab
    gain = first.restored.psnr - first.input.psnr
    assert float(images[0]["gain"]) == pytest.approx(gain)
    repeat = read_csv(report["repeat.csv"])
    assert [row["pass"] for row in repeat] == [str(number) for number in range(1, 11)]
    curve = json.loads(report["metrics.json"])["repeat"]
    assert [float(row["psnr"]) for row in repeat] == curve["psnr"]
    assert [float(row["ssim"]) for row in repeat] == curve["ssim"]
    training = read_csv(report["training.csv"])
    assert [row["epoch"] for row in training] == ["0", "1", "2"]
    assert [row["validation/psnr"] for row in training] == ["", "", "28.0"]


def test_plots_are_pictures_that_name_their_data_even_with_strange_names():
    strange = make_evaluation(dataset="a $b$ <c> & $x")
    plots = make_report(strange, make_trained(), [])
    assert plots["plots/repeat.svg"].startswith(b"<?xml")
    png = cv2.imdecode(np.frombuffer(plots["plots/repeat.png"], np.uint8), cv2.IMREAD_COLOR)
    assert png.shape[1] >= 900
    assert b"a $b$ &lt;c&gt; &amp; $x, protocol gopro" in plots["plots/repeat.svg"]


def test_names_cannot_smuggle_markup_into_the_page():
    page = page_of(name='"><script>alert(1)</script>', dataset="<b>'x'</b>")
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<b>" not in page


def test_built_in_scenes_are_never_taken_for_gopro():
    page = page_of()
    assert "scores are from the built-in scenes" in page
    assert "They cannot be compared with the paper&#39;s" in page
    assert page.count("Their rows cannot be compared") == 5
    assert ">here: " not in page
    assert "measured here: restored" not in page


def test_gopro_by_its_protocol_stands_in_one_table_with_the_paper():
    page = page_of(images=1111, samples=1, dataset="gopro", levels=(11,))
    assert "cannot be compared" not in page
    assert "measured here: restored" in page
    assert "paper: with the constraint" in page
    [row] = re.findall(r'<tr><th scope="row">11</th>(.*?)</tr>', page)
    assert row.endswith("<td>31.12</td><td>31.75</td><td>31.92</td>")


@pytest.mark.parametrize("made", [{"images": 1110}, {"images": 1111, "protocol": "rgb"}])
def test_part_of_gopro_or_another_protocol_is_no_comparison(made):
    page = page_of(samples=1, dataset="gopro", levels=(11,), **made)
    assert "Their rows cannot be compared" in page
    assert "measured here: restored" not in page


def test_what_the_paper_cannot_have_measured_is_reported():
    page = page_of()
    assert all(note.split("“")[0].split("'")[0] in page for note in SCORES.notes)
    assert "31.916 dB in Table VI and 31.973 in Table VII" in page


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"gain": 0.02, "change": 0.01}, "has collapsed to the identity"),
        ({"gain": 0.02, "images": 400}, "Restoring changed next to nothing"),
        ({"gain": -2.0}, "Restoring made the images worse"),
        ({"gain": 0.4, "images": 400}, "a small gain"),
        ({"gain": 3.0}, "a gain that can be seen"),
        ({"gain": 3.0, "loss": 0.0}, "the network is idempotent as far as"),
        ({"gain": 0.02, "images": 400, "loss": 0.0}, "there is not much to lose"),
        ({"gain": 1.0, "loss": 4.0}, "more than the first pass gained"),
        ({"gain": 3.0, "loss": -1.0}, "they keep improving"),
    ],
)
def test_the_headline_says_in_words_what_the_figures_mean(made, said):
    assert said in page_of(samples=1, **made)


def test_the_repeat_curve_is_shown_with_and_without_the_constraint():
    page = page_of(others=[other_run("plain-1"), other_run("more", passes=2, weight=0.1)])
    assert "run plain-1, trained without the constraint" in page
    assert "with the same settings otherwise" in page
    assert "without the constraint: PSNR, dB" in page


def test_a_run_without_the_constraint_is_set_beside_one_with_it():
    trained = make_trained(passes=1, idempotence_weight=0)
    page = page_of(trained=trained, others=[other_run("kept", passes=2, weight=0.1)])
    assert "This run was trained without the constraint" in page
    assert "run kept, trained with the constraint" in page


def test_the_other_run_is_the_closest_in_settings_and_differences_are_named():
    far, near = other_run("far", epochs=9, seed=4), other_run("near", epochs=30, threads=8)
    page = page_of(others=[far, near, far])
    assert "run near" in page
    assert "It differs in more than the constraint: epochs 30 instead of 3." in page


@pytest.mark.parametrize("change", [{"protocol": "rgb"}, {"images": 5}, {"dataset": "x"}])
def test_a_run_that_was_measured_otherwise_is_not_set_beside_this_one(change):
    page = page_of(others=[other_run("plain", change=change)])
    assert "run plain" not in page
    assert "There is no run without the constraint on this data" in page


def test_a_missing_run_comes_with_the_command_that_makes_it():
    assert (
        "kedro run --pipeline=train_deblur "
        "--params=deblur.train.passes=1,deblur.train.idempotence_weight=0" in page_of()
    )


@pytest.mark.parametrize(
    ("task", "protocol", "word", "table"),
    [("dehaze", "griddehaze", "hazy", "IX"), ("derain", "rain", "rainy", "X")],
)
def test_other_tasks_speak_their_own_words_and_have_no_levels(task, protocol, word, table):
    evaluation = make_evaluation(
        task=task, protocol=protocol, measures=("psnr", "ssim"), levels=(0,)
    )
    files = make_report(evaluation, make_trained(task), [])
    page = files["report.html"].decode()
    assert set(files) == WITHOUT_LEVELS
    assert f">{word}<" in page
    assert "blurred" not in page
    assert "Level by level" not in page
    assert "ssim_matlab" not in page.split("<script>")[0].split("Scored by")[0]
    assert f"Paper, Table {table}:" in page
    assert "Paper, Table VIII" not in page


@pytest.mark.parametrize("iterations", [1, 6])
def test_every_iteration_is_shown_once(iterations):
    page = page_of(samples=1, iterations=iterations)
    shown = re.findall(r"<figcaption>iteration (\d+)", page)
    assert shown == [str(number) for number in range(1, iterations + 1)]


def test_one_grey_image_is_enough_for_a_report():
    files = make_report(make_evaluation(1, 1, grey=True, size=(9, 17)), make_trained(), [])
    assert set(files) == FILES
    assert "1 image<" in files["report.html"].decode()


def test_weights_without_a_history_or_noise_leave_those_plots_out():
    evaluation = make_evaluation()
    rows = [row.model_copy(update={"noise": {}}) for row in evaluation.rows]
    files = make_report(replace(evaluation, rows=rows), make_trained(epochs=0), [])
    missing = {f"plots/{name}.{kind}" for name in ("noise", "training") for kind in ("svg", "png")}
    assert set(files) == FILES - missing
    assert files["training.csv"] == b"epoch\n"


@pytest.mark.slow
def test_the_report_on_all_of_gopro_is_below_15_mb():
    evaluation = make_evaluation(1111, 4, dataset="gopro", iterations=6, size=(720, 1280))
    page = make_report(evaluation, make_trained(epochs=3000), [])["report.html"]
    assert len(page) < 15_000_000


def test_many_samples_stay_within_the_budget_and_the_page_says_so(monkeypatch):
    monkeypatch.setattr(pictures, "BUDGET", 700_000)
    page = page_of(images=30, samples=30, size=(240, 320))
    assert "(8 of the 30 that were kept)" in page
    assert sum(map(len, re.findall(r"data:image/webp;base64,[^\"]*", page))) <= 700_000


def test_best_and_worst_patch_are_where_the_error_fell_and_rose_most():
    clean = np.full((120, 200, 3), 100, np.uint8)
    degraded, restored = clean.copy(), clean.copy()
    degraded[10:50, 20:60] = 140  # repaired
    restored[70:110, 130:170] = 140  # spoilt
    best, worst = pictures.find_windows(degraded, restored, clean)
    assert (best.top, best.left, best.side) == (10, 20, 40)
    assert (worst.top, worst.left) == (70, 130)
    assert best.gain > 0 > worst.gain
    assert (best.cut(degraded) == 140).all()


def test_a_difference_is_magnified_until_it_can_be_seen():
    before = np.full((8, 8, 3), 100, np.uint8)
    after = before + np.uint8(3)
    shown, times = difference(before, after)
    assert times == 32
    assert (shown == 128 + 3 * 32).all()
    assert difference(before, before) == (pytest.approx(np.full((8, 8, 3), 128)), 64)


def test_crops_are_exact_and_red_stays_red():
    image = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)
    content = pictures.to_png(image).partition(",")[2].encode()
    decoded = cv2.imdecode(np.frombuffer(base64.b64decode(content), np.uint8), cv2.IMREAD_COLOR)
    assert (decoded[:, :, ::-1] == image).all()


def test_imported_weights_have_a_report_although_nothing_is_known_of_their_training():
    card = {
        name: value
        for name, value in make_trained().card.items()
        if name not in ("data_fingerprint", "device", "threads")
    }
    card |= {"training": {}, "epoch": None, "source": "imported from released", "validation": {}}
    trained = replace(make_trained(epochs=0), card=card)
    page = make_report(make_evaluation(), trained, [])["report.html"].decode()
    assert "imported from released" in page
    assert "epoch None" not in page


@pytest.mark.parametrize(
    ("task", "counts"), [("deblur", "frames averaged"), ("derain", "strength")]
)
def test_a_level_counts_what_its_task_counts(task, counts):
    assert f"Levels are: {counts}." in page_of(task=task)
