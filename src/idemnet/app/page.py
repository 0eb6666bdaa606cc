"""The page of `idemnet app`: its layout, and what each button does."""

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import gradio as gr

from idemnet.app import repeat_curve
from idemnet.app.restoring import (
    MAX_MEGABYTES,
    MAX_MEGAPIXELS,
    name_middle,
    read_photo,
    restore_photo,
    show_both,
    show_difference,
    show_picture,
    show_steps,
    write_result,
    write_view,
)
from idemnet.app.samples import SampleFile, credit
from idemnet.app.weights import describe_missing, describe_weights, name_curve
from idemnet.errors import BadInputError
from idemnet.inference.restorer import Restorer
from idemnet.media.write_photo import to_eight_bits
from idemnet.tasks import get_task

KEPT_SECONDS = 3600
INTRODUCTION = f"""
<p class="over">idemnet</p>
<h1>Restore a picture</h1>
<p>All happens on {{computer}}, and nothing is kept: files are deleted after an hour, and when the
program ends. A picture may have up to {MAX_MEGAPIXELS} megapixels and {MAX_MEGABYTES} MB.</p>
"""
EMPTY = '<p class="empty">The picture will be here.</p>'
SHOW_STEP = """number => document.querySelectorAll("#steps figure").forEach(
    (one, place) => { one.hidden = place !== number })"""

PROGRESS = gr.Progress()
"""Default argument that makes gradio pass a progress tracker."""

Updates = dict[Any, Any]
"""New states of components."""


class Page:
    """Components of the page and their event handlers.

    Args:
        restorers: Restorers by task, for tasks that have weights.
        compared: Restorer whose repeat curve is drawn next to that of the same task.
        samples: Pictures to try.
        computer: Description of the computer that restores pictures.
    """

    def __init__(
        self,
        restorers: Mapping[str, Restorer],
        compared: Restorer | None,
        samples: Sequence[SampleFile],
        computer: str,
    ) -> None:
        self.restorers, self.compared, self.samples = restorers, compared, samples
        with gr.Blocks(
            title="idemnet: restore a picture",
            analytics_enabled=False,
            delete_cache=(KEPT_SECONDS // 6, KEPT_SECONDS),
        ) as self.blocks:
            gr.HTML(INTRODUCTION.format(computer=escape(computer)))
            with gr.Row():
                with gr.Column(scale=2, min_width=280):
                    self._build_input()
                with gr.Column(scale=5, min_width=280):
                    self._build_output()
            with gr.Row(visible=False, elem_id="results") as self.results:
                self._build_details()
            first = next(iter(restorers.values()))
            self.about = gr.HTML(describe_weights(first), elem_id="about")
            gr.HTML(f"<p>Photographs: {escape(credit())}.</p>", elem_id="credit")
            self._connect()

    def _build_input(self) -> None:
        self.upload = gr.File(label="Your picture", height=130, elem_id="upload")
        gr.HTML("<p>Or try one of these:</p>", elem_id="or")
        self.gallery = gr.Gallery(
            [(str(sample.path), sample.title) for sample in self.samples],
            label="Samples", show_label=False, height="auto",
            container=False, buttons=[], allow_preview=False, interactive=False,
            elem_id="samples",
        )  # fmt: skip
        self.task = gr.Radio(
            [(get_task(task).verb, task) for task in self.restorers],
            value=next(iter(self.restorers)), label="Task",
            info=describe_missing(self.restorers), elem_id="task",
        )  # fmt: skip
        self.passes = gr.Slider(
            1, 10, value=1, step=1, label="Passes", info="Restorations, one after the other.",
            buttons=[], elem_id="passes",
        )  # fmt: skip
        self.button = gr.Button("Restore", variant="primary", elem_id="restore")

    def _build_output(self) -> None:
        self.message = gr.HTML(visible=False, elem_id="message")
        self.preview = gr.HTML(EMPTY, elem_id="preview")
        script = (files("idemnet") / "app/comparison.js").read_text(encoding="utf-8")
        self.before_after = gr.HTML(visible=False, js_on_load=script, elem_id="before_after")
        self.download = gr.DownloadButton(
            "Download the result", variant="primary", visible=False, elem_id="download"
        )

    def _build_details(self) -> None:
        with gr.Column(min_width=280) as self.iterations:
            self.steps = _titled("Iteration by iteration", "steps")
            self.step = gr.Slider(
                0, 1, value=1, step=1, label="Iteration", interactive=True, buttons=[],
                elem_id="step",
            )  # fmt: skip
        with gr.Column(min_width=280):
            self.changed = _titled("What changed", "changed")
        with gr.Column(min_width=280):
            self.curve = _titled("Again and again", "curve")

    def _connect(self) -> None:
        shown = [self.message, self.preview, self.before_after, self.download, self.results]
        quick: Any = {"concurrency_limit": None, "api_visibility": "private"}
        # One at a time: two restorations at once would each take twice as long.
        slow: Any = {"concurrency_id": "restoring", "api_visibility": "private"}
        self.gallery.select(
            self.choose_sample, None, [self.upload, self.task], show_progress="hidden", **quick
        )
        self.upload.change(self.show_upload, self.upload, shown, show_progress="hidden", **quick)
        self.task.change(self.name_weights, self.task, self.about, show_progress="hidden", **quick)
        self.step.change(None, self.step, None, js=SHOW_STEP, **quick)
        pressed = self.button.click(
            self.restore,
            [self.upload, self.task, self.passes],
            [*shown, self.iterations, self.steps, self.step, self.changed, self.curve],
            show_progress_on=[self.preview, self.before_after],
            **slow,
        )
        pressed.then(self.draw_curve, [self.upload, self.task], self.curve, **slow)

    def choose_sample(self, chosen: gr.SelectData) -> tuple[str, str]:
        """Return a sample as if it had been uploaded, and its task."""
        sample = self.samples[chosen.index]
        return str(sample.path), sample.task

    def name_weights(self, task: str) -> str:
        return describe_weights(self.restorers[task])

    def show_upload(self, path: str | None) -> Updates:
        """Show an uploaded picture, and hide earlier results."""
        if path is None:
            return self._without_result(EMPTY)
        try:
            photo = read_photo(Path(path))
        except (BadInputError, OSError) as error:
            return self._without_result(EMPTY, describe_error(error))
        return self._without_result(show_picture(photo, Path(path).name))

    def restore(
        self, path: str | None, task: str, passes: int, progress: gr.Progress = PROGRESS
    ) -> Updates:
        """Restore a picture, and show the results."""
        if path is None:
            return self._without_result(EMPTY, "Choose a picture first.")
        original = Path(path)
        try:
            photo = read_photo(original)
            restored, steps = restore_photo(photo, self.restorers[task], passes, progress)
            result = write_result(restored, original)
        except (BadInputError, OSError, MemoryError) as error:
            return self._without_result(EMPTY, describe_error(error))
        before, after = to_eight_bits(photo.pixels), to_eight_bits(restored.pixels)
        whole = [
            self._serve(write_view(picture, result.with_name(name)))
            for picture, name in ((before, "before.png"), (after, "after.png"))
        ]
        return {
            self.message: gr.HTML(visible=False),
            self.preview: gr.HTML(visible=False),
            self.before_after: gr.HTML(show_both(before, after, whole), visible=True),
            self.download: gr.DownloadButton(value=result, visible=True),
            self.results: gr.Row(visible=True),
            # A single iteration is already shown above.
            self.iterations: gr.Column(visible=len(steps) > 2),
            self.steps: show_steps(steps, passes),
            self.step: gr.Slider(maximum=len(steps) - 1, value=len(steps) - 1),
            self.changed: show_difference(before, after),
            self.curve: "",
        }

    def draw_curve(self, path: str | None, task: str, progress: gr.Progress = PROGRESS) -> str:
        """Measure what repeated restoration does to the middle of the picture."""
        try:
            photo = read_photo(Path(path or ""))
        except (BadInputError, OSError):
            return ""
        restorers = [self.restorers[task]]
        if self.compared is not None and self.compared.card["task"] == task:
            restorers.append(self.compared)
        picture = to_eight_bits(photo.pixels)
        curves = {
            name_curve(restorer, compared=restorer is self.compared): repeat_curve.repeat(
                picture, restorer, progress
            )
            for restorer in restorers
        }
        return repeat_curve.show(curves, name_middle(picture))

    def _serve(self, path: Path) -> str:
        """Return the address of a file that gradio serves, and deletes with the others."""
        served = self.before_after.move_resource_to_block_cache(path)
        return f"gradio_api/file={quote(str(served))}"

    def _without_result(self, preview: str, complaint: str = "") -> Updates:
        notice = f'<p class="notice" role="alert">{escape(complaint)}</p>' if complaint else ""
        return {
            self.message: gr.HTML(notice, visible=bool(complaint)),
            self.preview: gr.HTML(preview, visible=True),
            self.before_after: gr.HTML(visible=False),
            self.download: gr.DownloadButton(visible=False),
            self.results: gr.Row(visible=False),
        }


def _titled(title: str, name: str) -> gr.HTML:
    return gr.HTML(html_template=f"<h2>{title}</h2>${{value}}", elem_id=name)


def describe_error(error: BaseException) -> str:
    """Return an error message for the page."""
    match error:
        case FileNotFoundError():
            return "The uploaded picture has expired: choose it again."
        case MemoryError():
            return "Not enough memory for this picture: scale it down."
        case _:
            return str(error)
