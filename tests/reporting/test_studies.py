"""A study's tables, verdicts and page say what was measured, and nothing more."""

import csv
import io

import pytest
import yaml

from idemnet.evaluation.metrics import summarise
from idemnet.parameters.study import STUDIES, StudyParameters, merge
from idemnet.parameters.train import TrainParameters
from idemnet.reporting import paper
from idemnet.reporting.studies.claims import CLAIMS, judge
from idemnet.reporting.studies.layouts import LAYOUTS, tables_of
from idemnet.reporting.studies.numbers import Cells, Numbers
from idemnet.reporting.studies.report import TITLES, make_study_report, render_studies
from idemnet.steps.study import Outcome, StudyResults

from ..conftest import REPOSITORY
from .made_up import make_evaluation

PARAMETERS = StudyParameters.model_validate(
    yaml.safe_load((REPOSITORY / "conf/base/parameters_study.yml").read_text())["study"]
)


def outcome(
    cell: str, seed: int = 0, psnr: float = 28.0, loss: float = 0.5, sequence: str = "", **options
) -> Outcome:
    metrics = summarise(make_evaluation(images=2, samples=0, loss=loss, **options))
    metrics["restored"]["psnr"] = psnr
    about = PARAMETERS.cells[cell]
    settings = {"train.epochs": 8, "train.seed": seed}
    return Outcome(cell, about.label, seed, sequence, about.after, settings, metrics)


def study(name: str, *outcomes: Outcome) -> StudyResults:
    return StudyResults(name, STUDIES[name], "builtin", outcomes)


def whole(name: str) -> StudyResults:
    return study(name, *(outcome(cell) for cell in PARAMETERS.studies[name].cells))


def test_every_study_has_a_title_a_table_and_cells():
    assert set(STUDIES) == set(TITLES) == set(LAYOUTS) == set(PARAMETERS.studies)


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_has_its_files_and_a_place_on_the_page(name):
    files = make_study_report(whole(name))
    assert {"results.json", "table.csv", "table.md", "figure.svg"} <= files.keys()
    rows = list(csv.reader(io.StringIO(files["table.csv"].decode())))
    assert len({len(row) for row in rows}) == 1
    page = render_studies({name: whole(name)})
    assert f'id="{name}"' in page
    assert ("Two different measurements" in page) == (name not in ("thermal", "longer"))


@pytest.mark.parametrize("name", CLAIMS)
def test_claims_are_about_cells_of_their_study(name):
    cells = set(PARAMETERS.studies[name].cells)
    for claim in CLAIMS[name]:
        assert {claim.better, claim.worse or claim.better} <= cells, claim.text


def test_figures_over_seeds_are_mean_and_standard_deviation():
    found = Numbers((28.0, 28.2, 28.4))
    assert found.mean == pytest.approx(28.2)
    assert found.spread == pytest.approx(0.2)
    assert found.text == "28.20 ± 0.20"
    assert Numbers((28.0,)).text == "28.00"
    assert Numbers((1234567.0,) * 3, 0).text == "1,234,567"


def test_the_paper_has_columns_of_its_own():
    [table] = tables_of(Cells(whole("constraint")))
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
    [first, *_] = judge(Cells(study("dehaze", *cells)))
    assert first.verdict == verdict


def test_a_network_that_does_nothing_is_not_called_stable():
    cells = Cells(
        study("dehaze", outcome("idempotent_without", loss=2.0),
              outcome("idempotent", loss=0.0, change=0.01))
    )  # fmt: skip
    verdicts = judge(cells)
    assert [one.verdict for one in verdicts] == [
        "does not count (one seed; collapsed to the identity in 1)"
    ] * 2


def test_what_was_not_measured_is_not_judged():
    failed = Outcome("idempotent", "idempotent, with the constraint", 0, failure="OSError: full")
    cells = Cells(study("dehaze", outcome("idempotent_without"), failed))
    assert {one.verdict for one in judge(cells)} == {"not measured"}
    files = make_study_report(cells.results)
    assert b"| idempotent, with the constraint | failed |" in files["table.md"]
    assert b"OSError: full" in files["table.md"]
    assert b"failed" in files["table.csv"]


def test_a_study_of_which_everything_failed_still_says_so():
    failed = [Outcome(cell, cell, 0, failure="RuntimeError: no") for cell in
              PARAMETERS.studies["repeat"].cells]  # fmt: skip
    assert b"every cell failed" in make_study_report(study("repeat", *failed))["table.md"]


def test_what_comes_from_outside_is_escaped():
    nasty = Outcome("idempotent", "<script>alert(1)</script>", 0, failure="<b>")
    page = render_studies({"noise": study("noise", outcome("idempotent_without"), nasty)})
    assert "<script" not in page
    assert "<b>" not in page


def test_images_restored_by_others_have_a_table_of_their_own():
    curve, again = tables_of(Cells(whole("repeat")))
    assert not any("after" in name for name in curve.head)
    assert [row[0] for row in again.rows] == [
        PARAMETERS.cells[cell].label
        for cell in PARAMETERS.studies["repeat"].cells
        if PARAMETERS.cells[cell].after
    ]
    assert again.rows[1][-2:] == ("30.192", "29.896")
    assert len(curve.rows) == 10
    assert dict(zip(curve.head, curve.rows[2], strict=True))["paper: Stack(4)-DMPHN"] == "29.896"


def test_test_sets_that_are_scored_apart_have_rows_and_verdicts_of_their_own():
    sets = ("RealBlur_J", "RealBlur_R")
    cells = [outcome(cell, sequence=one) for cell in PARAMETERS.studies["realblur"].cells
             for one in sets]  # fmt: skip
    [table] = tables_of(Cells(study("realblur", *cells)))
    assert [row[0] for row in table.rows[:2]] == [f"MT-RNN, without: {one}" for one in sets]
    assert [row[-2:] for row in table.rows[:2]] == [("28.44", "0.862"), ("35.77", "0.951")]
    [first, second] = judge(Cells(study("realblur", *cells)))
    assert first.claim.endswith("(RealBlur_J)")
    assert second.claim.endswith("(RealBlur_R)")


def test_the_ablation_is_the_paper_s():
    """Rows (a) to (m), as Table IV has them: FMR, LCR, passes, constraint, iterations."""
    rows = {
        "a": (False, False, 1, False, 1), "b": (False, False, 1, False, 2),
        "c": (False, False, 1, False, 4), "d": (False, False, 1, False, 6),
        "e": (False, False, 1, False, 8), "f": (True, False, 1, False, 6),
        "g": (True, False, 2, False, 6), "h": (True, False, 2, True, 6),
        "i": (True, True, 1, False, 6), "j": (True, True, 2, False, 6),
        "k": (True, True, 3, True, 6), "l": (True, True, 2, True, 6),
        "m": (True, True, 2, True, 8),
    }  # fmt: skip
    assert tuple(rows) == PARAMETERS.studies["ablation"].cells
    for letter, expected in rows.items():
        training = PARAMETERS.training("ablation", letter, 0, TrainParameters())
        network = training.network.idempotent
        found = (network.feature_recurrence, network.code_recurrence, training.times,
                 training.idempotence_weight > 0, network.iterations)  # fmt: skip
        assert found == expected, letter
    assert [row[0] for row in paper.ABLATION.table.rows] == list(rows)


def test_changes_are_laid_over_settings_group_by_group():
    settings = {"a": 1, "b": {"c": 2, "d": 3}}
    assert merge(settings, {"b": {"d": 4}, "e": 5}) == {"a": 1, "b": {"c": 2, "d": 4}, "e": 5}
    assert settings == {"a": 1, "b": {"c": 2, "d": 3}}
