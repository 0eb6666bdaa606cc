import logging

from idemnet import progress


def test_a_line_promises_nothing_before_anything_came(monkeypatch, caplog):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    caplog.set_level(logging.DEBUG)
    with progress.count_items("work", 4) as advance:
        advance(0)
        assert not caplog.messages
        advance(1)
    assert "work: 1 of 4" in caplog.messages[0]
