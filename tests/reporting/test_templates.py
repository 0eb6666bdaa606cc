"""Sentences come from templates as plain text, and no template says what nobody asks for."""

import re

from idemnet.reporting.templates import paragraphs, sentence

from ..conftest import REPOSITORY

REPORTING = REPOSITORY / "src/idemnet/reporting"


def test_every_macro_is_used_and_no_other_is_called():
    macros = re.findall(r"{% macro (\w+)\(", (REPORTING / "sentences.j2").read_text())
    code = "".join(path.read_text() for path in REPORTING.glob("*.py"))
    asked = re.findall(r"(?:paragraphs|sentence)\(\s*\"(\w+)\"", code)
    assert sorted(macros) == sorted(set(asked))


def test_lines_are_folded_and_empty_lines_separate_paragraphs():
    both = paragraphs("repeat", label="so", other=None, missing="otherwise")
    assert both == (
        "The repeat curve: the restored image is restored again, and again. An idempotent network "
        "stays flat. This run was trained so.",
        "There is no run otherwise on this data to compare with yet. To get one:",
    )


def test_sentences_are_not_escaped_before_their_page_does_it():
    assert sentence("training", epoch="<b>") == (
        "The weights are those of epoch <b>, counted from 0: the best on validation images, which "
        "are not test images. All epochs are in training.csv."
    )
