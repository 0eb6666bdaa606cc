import logging

import pytest

from idemnet.system import progress


def test_a_line_promises_nothing_before_anything_came(monkeypatch, caplog):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    caplog.set_level(logging.DEBUG)
    with progress.count_items("work", 4) as advance:
        advance(0)
        assert not caplog.messages
        advance(1)
    assert "work: 1 of 4" in caplog.messages[0]


@pytest.mark.parametrize(
    ("rate", "said"),
    [(20, "20.0/s"), (1, "1.0/s"), (0.3125, "3.2 s each"), (0.001, "1000.0 s each")],
)
def test_a_rate_below_one_is_shown_as_the_time_of_each(rate, said):
    assert progress.describe_rate(rate) == said


def test_parts_of_an_item_add_up(monkeypatch, caplog):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    caplog.set_level(logging.DEBUG)
    with progress.count_items("work", 2) as advance:
        for tile in range(7):
            advance(1 / 7, f"tile {tile}")
    assert caplog.messages[0].startswith("work tile 0: 0 of 2, ")
    assert caplog.messages[-1].startswith("work tile 6: 1 of 2, ")


def test_a_bar_counts_whole_items_and_shows_slow_rates(capfd, monkeypatch):
    """On a terminal, as rich draws it."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with progress.count_items("work", 3) as advance:
        advance(1.5, "tile 1 of 2")
    drawn = capfd.readouterr().err
    assert "work tile 1 of 2" in drawn and "1/3" in drawn
