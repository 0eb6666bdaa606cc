"""The record of a training run, on this disk: what any tracking server is told comes from here.

Training only ever appends a line. Lines carry the time they were written, so that a server that is
told the same line twice can see that it is the same.
"""

import itertools
import json
import os
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from idemnet.errors import BadInputError
from idemnet.imaging.image import Image
from idemnet.media.image_files import write_image
from idemnet.steps.plan import flatten
from idemnet.storage.atomic import (
    make_durable,
    place_inside,
    raise_if_disk_full,
    write_all,
    write_atomic,
)

JOURNAL = "journal.jsonl"
IMAGES = "images"
ARTIFACTS = "artifacts"
INTERRUPTED = "interrupted"
"""Why a run failed that somebody stopped."""

Line = tuple[dict[str, Any], int]
"""What was written, and the byte it ends at."""


def read_journal(folder: Path) -> list[dict[str, Any]]:
    """Read every whole line."""
    return [line for line, _ in read_on(folder, 0)]


def read_start(folder: Path) -> dict[str, Any]:
    """Read the first line.

    Raises:
        BadInputError: If it is not one that `Journal.start` has written.
    """
    with (folder / JOURNAL).open("rb") as file:
        line = _parse(file.readline())
    if line["kind"] != "started":
        raise BadInputError(f"{folder / JOURNAL}: does not begin with the start of a run")
    return line


def read_on(folder: Path, start: int) -> list[Line]:
    """Read the whole lines from a byte on, once they are safe on disk.

    A line that is still being written is not whole.
    """
    try:
        with (folder / JOURNAL).open("rb") as file:
            file.seek(start)
            lines = file.read().splitlines(keepends=True)
            # What a server was told must not be lost by a power cut and then be told differently.
            os.fsync(file.fileno())
    except FileNotFoundError:
        return []
    ends = itertools.accumulate(map(len, lines), initial=start)
    next(ends)
    return [
        (_parse(line), end) for line, end in zip(lines, ends, strict=True) if line.endswith(b"\n")
    ]


def _parse(line: bytes) -> dict[str, Any]:
    try:
        return dict(json.loads(line))
    except ValueError:
        return {"kind": "unreadable"}


class Journal:
    """One training run's lines, images and results in a folder; a resumed run goes on in it."""

    def __init__(
        self,
        folder: Path,
        tags: Mapping[str, str] | None = None,
        monitor: Callable[[], Mapping[str, float]] = dict,
    ) -> None:
        """Read what is there; a last line torn by a kill is cut off.

        Args:
            folder: Made with the first line.
            tags: Joined to those given to `start`.
            monitor: Gives further values, which are recorded with those given to `log`.
        """
        self.folder = folder
        self._path = folder / JOURNAL
        self._tags = tags or {}
        self._monitor = monitor
        self._reached: dict[tuple[str, str], int] = {}
        self._last: Mapping[str, Any] = {"kind": "nothing"}
        self.finished = False
        self.evaluation: Mapping[str, Any] | None = None
        """The line of the latest evaluation."""
        end = 0
        for line, end in read_on(folder, 0):  # noqa: B007
            self._note(line)
        if self._path.exists():
            os.truncate(self._path, end)

    @property
    def id(self) -> str:
        """Of the run, wherever it is recorded."""
        return str(read_start(self.folder)["id"])

    def start(self, name: str, parameters: Mapping[str, Any], tags: Mapping[str, str]) -> None:
        """Begin, or go on where an earlier process stopped.

        Args:
            name: Of the run, for people.
            parameters: Nested; kept flat, with dots between the keys.
            tags: Beside those that the journal was opened with.
        """
        if self._last["kind"] != "nothing":
            if self._last["kind"] == "failed":
                self._append("resumed", after=self._last["reason"])
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        flat = dict(flatten(parameters))
        self._append(
            "started", id=uuid.uuid4().hex, name=name, parameters=flat, tags={**self._tags, **tags}
        )
        make_durable(self.folder)

    def tag(self, tags: Mapping[str, str]) -> None:
        """Add tags to those of the start."""
        self._append("tags", tags=dict(tags))

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Record values, but for those that a resumed run computes again."""
        new = {
            key: float(value)
            for key, value in {**values, **self._monitor()}.items()
            if step > self._reached.get(("metrics", key), -1)
        }
        if new:
            self._append("metrics", step=step, values=new)

    def image(self, step: int, name: str, image: Image) -> None:
        """Record an image, unless a resumed run comes by here again."""
        if step > self._reached.get(("image", name), -1):
            file = f"{name}/{step:08d}.png"
            write_image(self.folder / IMAGES, file, image)
            self._append("image", step=step, name=name, file=file)

    def finish(self, scores: Mapping[str, float], artifacts: Mapping[str, bytes]) -> None:
        """End well.

        Args:
            scores: Of the weights that were kept.
            artifacts: Bytes of files to keep with the run, by name.
        """
        if self.finished:
            return
        self._write(artifacts)
        plain = {key: float(value) for key, value in scores.items()}
        files = {Path(name).stem: name for name in artifacts}
        self._append("finished", scores=plain, artifacts=files)

    def evaluated(
        self, fingerprint: str, metrics: Mapping[str, Any], artifacts: Mapping[str, bytes]
    ) -> None:
        """Add what the weights were found to be worth; the same report is added once."""
        if self.evaluation and self.evaluation["fingerprint"] == fingerprint:
            return
        self._write(artifacts)
        self._append(
            "evaluated", fingerprint=fingerprint, metrics=metrics, artifacts=list(artifacts)
        )

    def _write(self, artifacts: Mapping[str, bytes]) -> None:
        for name, content in artifacts.items():
            write_atomic(place_inside(self.folder / ARTIFACTS, name), [content])

    def fail(self, reason: str) -> None:
        """End badly, for now; what was never started or has finished did not fail."""
        if self._last["kind"] != "nothing" and not self.finished:
            self._append("failed", reason=reason)

    def _append(self, kind: str, **content: Any) -> None:
        line = {"kind": kind, "time": time.time_ns() // 1_000_000, **content}
        text = json.dumps(line, ensure_ascii=False, default=str) + "\n"
        data = text.encode("utf-8", "backslashreplace")
        # Only the first line makes the file: one that has vanished is missed, not begun again.
        with self._path.open("ab" if kind == "started" else "r+b", buffering=0) as file:
            end = file.seek(0, os.SEEK_END)
            try:
                write_all(file, data)
                if kind != "metrics":  # too many of those to wait for the disk each time
                    os.fsync(file.fileno())
            except OSError as error:
                file.truncate(end)  # half a line would spoil the next one
                raise_if_disk_full(error, self._path, len(data))
                raise
        self._note(line)

    def _note(self, line: Mapping[str, Any]) -> None:
        self._last = line
        if line["kind"] == "finished":
            self.finished = True
        elif line["kind"] == "evaluated":
            self.evaluation = line
        elif line["kind"] == "metrics":
            self._reached.update((("metrics", key), line["step"]) for key in line["values"])
        elif line["kind"] == "image":
            self._reached["image", line["name"]] = line["step"]
