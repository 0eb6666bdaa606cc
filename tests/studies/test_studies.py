"""Studies are found by their files, and say what they train, show and claim."""

import subprocess
import sys

import pytest
import yaml

from idemnet.models import build_network
from idemnet.models.cost import count_macs, count_parameters
from idemnet.parameters.study import StudyParameters, merge
from idemnet.parameters.train import TrainParameters
from idemnet.steps.study import StudyResults
from idemnet.studies import ablation, all_studies
from idemnet.studies.parts.published import COUNTED, PUBLISHED
from idemnet.studies.parts.results import Cells

from ..conftest import REPOSITORY

STUDIES = all_studies()
SIZES = StudyParameters.model_validate(
    yaml.safe_load((REPOSITORY / "conf/base/parameters_study.yml").read_text())["study"]
)


def test_a_study_is_named_as_its_file():
    files = {path.stem for path in (REPOSITORY / "src/idemnet/studies").glob("[!_]*.py")}
    assert set(STUDIES) == files


def test_studies_come_in_the_order_of_the_paper_s_tables():
    assert list(STUDIES) == [
        "gopro", "realblur", "levels", "ablation", "constraint", "longer", "repeat", "iterations",
        "noise", "dehaze", "derain", "thermal", "speed", "budget", "filmed", "peers",
        "weighting",
    ]  # fmt: skip


def test_cells_of_the_same_name_are_the_same_cell():
    """What studies share is trained once, and its sizes are given once."""
    cells = {}
    for study in STUDIES.values():
        for cell in study.cells:
            assert cells.setdefault(cell.name, cell) == cell


@pytest.mark.parametrize("study", STUDIES.values(), ids=list(STUDIES))
def test_claims_are_about_cells_of_their_study(study):
    cells = {cell.name for cell in study.cells}
    for claim in study.claims:
        assert {claim.better, claim.worse or claim.better} <= cells, claim.text


def test_listing_studies_does_not_wait_for_matplotlib():
    code = (
        "import sys; from idemnet.studies import all_studies; all_studies();"
        "print({'matplotlib', 'torch', 'kedro'} & set(sys.modules))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "set()\n"


def test_sizes_of_a_study_and_of_a_cell_come_after_those_of_all():
    sizes = StudyParameters.model_validate(
        {
            "train": {"epochs": 8, "batch_size": 3},
            "studies": {"noise": {"train": {"epochs": 9}, "cells": ["idempotent"]}},
            "cells": {"idempotent": {"train": {"batch_size": 4}}},
        }
    )
    [cell] = STUDIES["noise"].chosen(sizes)
    training = STUDIES["noise"].training(cell, 5, sizes, TrainParameters())
    assert (training.epochs, training.batch_size, training.seed) == (9, 4, 5)
    elsewhere = STUDIES["gopro"].training(cell, 0, sizes, TrainParameters())
    assert (elsewhere.epochs, elsewhere.batch_size) == (8, 4)


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
    assert list(rows) == [cell.name for cell in ablation.STUDY.cells]
    for cell, expected in zip(ablation.STUDY.cells, rows.values(), strict=True):
        training = ablation.STUDY.training(cell, 0, SIZES, TrainParameters())
        network = training.network.idempotent
        found = (network.feature_recurrence, network.code_recurrence, training.passes,
                 training.idempotence_weight > 0, network.iterations)  # fmt: skip
        assert found == expected, cell.name
    assert [row[0] for row in ablation.PAPER.rows] == list(rows)


def test_changes_are_laid_over_settings_group_by_group():
    settings = {"a": 1, "b": {"c": 2, "d": 3}}
    assert merge(settings, {"b": {"d": 4}, "e": 5}) == {"a": 1, "b": {"c": 2, "d": 4}, "e": 5}
    assert settings == {"a": 1, "b": {"c": 2, "d": 3}}


def test_costs_at_full_size_are_those_of_the_networks():
    networks = [("idempotent", {}), ("dmphn", {}), ("dmphn", {"stack": 4}), ("mtrnn", {}),
                ("unet", {})]  # fmt: skip
    sizes = ((256, 256), (720, 1280), (1200, 1920))
    for (name, arguments), row in zip(networks, COUNTED.rows, strict=True):
        network = build_network(name, arguments)
        counted = [f"{count_macs(network, *size) / 1e9:,.1f}" for size in sizes]
        assert row[1:] == (f"{count_parameters(network):,}", *counted)


def test_published_numbers_are_never_in_a_table_of_measured_ones():
    assert all(head.startswith("published") for head in PUBLISHED.head)
    for name in ("speed", "peers"):
        measured, *others = STUDIES[name].tables(Cells(StudyResults(name, "deblur", "x", ())))
        assert not any(head.startswith("published") for head in measured.head)
        assert others[-1] is PUBLISHED
