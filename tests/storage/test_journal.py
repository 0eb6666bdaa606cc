"""Two attempts at one job do no harm: the older one stops, and each writes its own journal."""

import json
from functools import partial
from pathlib import Path

import pytest

from idemnet.storage.executor import Job, run_job
from idemnet.storage.journal import Journal, LineCounter, SupersededError, read_journals

NAMES = ("a", "b", "c")


def write(folder: Path, name: str, content: str) -> str:
    (folder / name).write_text(content)
    return content


def make(wanted):
    return ((name, "new") for name in wanted)


def make_slowly(folder: Path, first: Path, wanted):
    """Give an item, let another worker do the whole job meanwhile, and go on."""
    yield "a", "old"
    run_job(Job(NAMES, make), folder, first, write)
    yield "b", "old"


def test_a_worker_taken_for_dead_stops_at_its_next_item(tmp_path):
    first = tmp_path / "0.jsonl"
    slow = Job(NAMES, partial(make_slowly, tmp_path, first))
    with pytest.raises(SupersededError):
        run_job(slow, tmp_path, first, write)
    assert {name: (tmp_path / name).read_text() for name in NAMES} == {
        "a": "old", "b": "new", "c": "new",
    }  # fmt: skip
    assert read_journals(first) == {"a": "old", "b": "new", "c": "new"}
    assert LineCounter(first).count() == 3  # what the first attempt finished was not made again


def test_a_worker_whose_result_is_published_stops(tmp_path):
    with Journal(tmp_path / "0.jsonl") as journal:
        journal.check_is_newest()
        (tmp_path / "0.jsonl").unlink()
        with pytest.raises(SupersededError):
            journal.check_is_newest()


def test_each_attempt_has_a_journal_of_its_own(tmp_path):
    first = tmp_path / "3.jsonl"
    for name in NAMES:
        with Journal(first) as journal:
            journal.add(name, 1)
    assert {path.name for path in tmp_path.iterdir()} == {"3.jsonl", "3.1.jsonl", "3.2.jsonl"}
    assert read_journals(first) == dict.fromkeys(NAMES, 1)


def test_what_is_finished_leaves_no_new_journal(tmp_path):
    first = tmp_path / "0.jsonl"
    for _ in range(2):
        assert run_job(Job(NAMES, make), tmp_path, first, write) == dict.fromkeys(NAMES, "new")
    assert [path.name for path in tmp_path.glob("*.jsonl")] == ["0.jsonl"]


def test_lines_are_counted_as_they_come_and_torn_ones_when_they_are_whole(tmp_path):
    first = tmp_path / "0.jsonl"
    counter = LineCounter(first)
    assert counter.count() == 0
    first.write_bytes(b'["a", 1]\n["b"')
    assert counter.count() == 1
    first.write_bytes(b'["a", 1]\n["b", 2]\n')
    assert counter.count() == 2


def test_a_line_of_zeros_is_not_believed(tmp_path):
    """What a machine that went down may leave on a network file system."""
    (tmp_path / "0.jsonl").write_bytes(json.dumps(["a", 1]).encode() + b"\n\0\0\0\n")
    assert read_journals(tmp_path / "0.jsonl") == {"a": 1}
