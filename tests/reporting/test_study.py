"""A study's tables, verdicts and page say what was measured, and nothing more."""

import csv
import io
from dataclasses import replace

import pytest

from idemnet.evaluation.metrics import summarise
from idemnet.reporting.study import make_study_report, render_studies
from idemnet.reporting.verdicts import Verdict, judge
from idemnet.steps.study import Outcome, StudyResults
from idemnet.studies import all_studies, get_study
from idemnet.studies.parts.results import Cells, Numbers
from idemnet.studies.parts.tables import StudyTable

from .example_results import make_evaluation

STUDIES = all_studies()
CELLS = {cell.name: cell for study in STUDIES.values() for cell in study.cells}


def outcome(
    cell: str, seed: int = 0, psnr: float = 28.0, loss: float = 0.5, sequence: str = "", **options
) -> Outcome:
    metrics = summarise(make_evaluation(images=2, samples=0, loss=loss, **options))
    restored = metrics.restored.model_copy(update={"psnr": psnr})
    metrics = metrics.model_copy(update={"restored": restored})
    about, after = CELLS[cell], CELLS[cell].after
    settings = {"train.epochs": 8, "train.seed": seed}
    return Outcome(
        cell, about.label, seed, sequence, after.name if after else None, settings, metrics
    )


def study(name: str, *outcomes: Outcome) -> StudyResults:
    return StudyResults(name, STUDIES[name].task, "builtin", outcomes)


def whole(name: str) -> StudyResults:
    return study(name, *(outcome(cell.name) for cell in STUDIES[name].cells))


def tables_of(results: StudyResults) -> list[StudyTable]:
    return get_study(results.name).tables(Cells(results))


def verdicts_on(results: StudyResults) -> list[Verdict]:
    return judge(Cells(results), get_study(results.name).claims)


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_has_its_files_and_a_place_on_the_page(name):
    files = make_study_report(whole(name))
    assert {"results.json", "table.csv", "table.md", "figure.svg"} <= files.keys()
    rows = list(csv.reader(io.StringIO(files["table.csv"].decode())))
    assert len({len(row) for row in rows}) == 1
    page = render_studies({name: whole(name)})
    assert f'id="{name}"' in page
    assert ("Two different measurements" in page) == (
        name not in ("thermal", "longer", "peers", "budget", "weighting")
    )


def test_figures_over_seeds_are_mean_and_standard_deviation():
    found = Numbers((28.0, 28.2, 28.4))
    assert found.mean == pytest.approx(28.2)
    assert found.spread == pytest.approx(0.2)
    assert found.text == "28.20 ± 0.20"
    assert Numbers((28.0,)).text == "28.00"
    assert Numbers((1234567.0,) * 3, 0).text == "1,234,567"


def test_the_paper_has_columns_of_its_own():
    [table] = tables_of(whole("constraint"))
    by_network = {row[0]: dict(zip(table.head, row, strict=True)) for row in table.rows}
    with_it = by_network["DMPHN, with the constraint"]
    assert with_it["paper: PSNR, dB"] == "30.36"
    assert with_it["PSNR, dB"].mean == 28.0
    assert by_network["idempotent, without"]["paper: PSNR, dB"] == "31.80"


@pytest.mark.parametrize(
    ("gains", "verdict"),
    [
        ((0.1, 0.2, 0.3), "holds (3 of 3 seeds)"),
        ((0.1, -0.2, 0.3), "open (2 of 3 seeds)"),
        ((-0.1, -0.2, 0.0), "does not hold (0 of 3 seeds)"),
        ((0.1,), "holds (one seed)"),
    ],
)
def test_a_claim_holds_only_with_every_seed(gains, verdict):
    cells = [outcome("idempotent_without", seed) for seed in range(len(gains))]
    cells += [outcome("idempotent", seed, 28.0 + gain) for seed, gain in enumerate(gains)]
    [first, *_] = verdicts_on(study("dehaze", *cells))
    assert first.verdict == verdict


def test_a_network_that_does_nothing_is_not_called_stable():
    cells = outcome("idempotent_without", loss=2.0), outcome("idempotent", loss=0.0, change=0.01)
    verdicts = verdicts_on(study("dehaze", *cells))
    assert [one.verdict for one in verdicts] == [
        "does not count (one seed; collapsed to the identity in 1)"
    ] * 2


def test_what_was_not_measured_is_not_judged():
    failed = Outcome("idempotent", "idempotent, with the constraint", 0, failure="OSError: full")
    results = study("dehaze", outcome("idempotent_without"), failed)
    assert {one.verdict for one in verdicts_on(results)} == {"not measured"}
    files = make_study_report(results)
    assert b"| idempotent, with the constraint | failed |" in files["table.md"]
    assert b"OSError: full" in files["table.md"]
    assert b"failed" in files["table.csv"]


def test_cells_that_were_not_part_of_a_run_are_absent_without_an_error():
    """As in results from before the study had them."""
    cells = [cell.name for cell in STUDIES["constraint"].cells if not cell.name.startswith("unet")]
    results = study("constraint", *(outcome(name) for name in cells))
    files = make_study_report(results)
    page, table = files["table.md"].decode(), files["table.csv"].decode()
    assert len(table.splitlines()) == 1 + len(cells)
    assert "U-shape" not in files["claims.csv"].decode()
    [absent] = [line for line in page.splitlines() if "U-shape" in line]
    assert absent.startswith("Not part of this run: gated U-shape, without; gated U-shape, with")
    assert "failed" not in page and "not measured" not in page
    assert "Not part of this run" in render_studies({"constraint": results})
    assert "Not part of this run" not in make_study_report(whole("constraint"))["table.md"].decode()


def test_updates_and_hours_of_every_training_are_shown_and_shared_ones_added_once():
    grey, plain = outcome("idempotent_grey"), outcome("idempotent")
    alone = replace(outcome("idempotent_without"), settings={"train.passes": 1})
    again = replace(outcome("idempotent_without", 1), settings={"train.passes": 1, "seed": 1})
    hours = {"updates": 1000, "hours": 0.5}
    results = study("thermal", *(replace(one, **hours) for one in (grey, plain, alone)),
                    replace(again, updates=1000, hours=1.0))  # fmt: skip
    files = make_study_report(results)
    rows = list(csv.DictReader(io.StringIO(files["trainings.csv"].decode())))
    assert [row["hours"] for row in rows] == ["0.5", "0.5", "0.75"]
    page = files["table.md"].decode()
    assert "| idempotent, without | 1,000 | 0.75 ± 0.35 |" in page
    assert "3 trainings: 3,000 updates and 2.0 hours in all" in page
    assert "3 trainings: 3,000 updates and 2.0 hours" in render_studies({"thermal": results})


def test_gain_is_shown_against_updates_with_and_without_the_constraint():
    lengths = {"short": 100, "idempotent": 1000, "long": 10000}
    cells = [
        replace(outcome(name + suffix, gain=gain), updates=updates)
        for gain, (name, updates) in enumerate(lengths.items())
        for suffix in ("_without", "")
    ]
    [table] = tables_of(study("budget", *cells))
    assert [row[0] for row in table.rows] == ["100", "1,000", "10,000"]
    figure = make_study_report(study("budget", *cells))["figure.svg"]
    for label in (b"without the constraint", b"with the constraint"):
        assert label in figure
    [absent, *_] = tables_of(study("budget", *cells[2:4]))
    assert len(absent.rows) == 1


def test_results_of_older_versions_have_no_updates_and_hours():
    files = make_study_report(whole("thermal"))
    assert "trainings.csv" not in files
    assert b"hours" not in files["table.md"]


def test_a_part_of_gopro_is_called_one():
    files = make_study_report(study("noise", outcome("idempotent", dataset="gopro_third")))
    assert b"Measured on a third of GoPro, 2 test images of 1,111, protocol" in files["table.md"]


def test_a_study_of_which_everything_failed_still_says_so():
    failed = [Outcome(cell.name, cell.label, 0, failure="RuntimeError: no")
              for cell in STUDIES["repeat"].cells]  # fmt: skip
    assert b"every cell failed" in make_study_report(study("repeat", *failed))["table.md"]


def test_what_comes_from_outside_is_escaped():
    nasty = Outcome("idempotent", "<script>alert(1)</script>", 0, failure="<b>")
    page = render_studies({"noise": study("noise", outcome("idempotent_without"), nasty)})
    assert "<script" not in page
    assert "<b>" not in page


def test_images_restored_by_others_have_a_table_of_their_own():
    curve, again = tables_of(whole("repeat"))
    assert not any("after" in name for name in curve.head)
    assert [row[0] for row in again.rows] == [
        cell.label for cell in STUDIES["repeat"].cells if cell.after
    ]
    assert again.rows[1][-2:] == ("30.192", "29.896")
    assert len(curve.rows) == 10
    assert dict(zip(curve.head, curve.rows[2], strict=True))["paper: Stack(4)-DMPHN"] == "29.896"


def test_test_sets_that_are_scored_apart_have_rows_and_verdicts_of_their_own():
    sets = ("RealBlur_J", "RealBlur_R")
    cells = [outcome(cell.name, sequence=one) for cell in STUDIES["realblur"].cells
             for one in sets]  # fmt: skip
    [table] = tables_of(study("realblur", *cells))
    assert [row[0] for row in table.rows[:2]] == [f"MT-RNN, without: {one}" for one in sets]
    assert [row[-2:] for row in table.rows[:2]] == [("28.44", "0.862"), ("35.77", "0.951")]
    [first, second] = verdicts_on(study("realblur", *cells))
    assert first.claim.endswith("(RealBlur_J)")
    assert second.claim.endswith("(RealBlur_R)")
