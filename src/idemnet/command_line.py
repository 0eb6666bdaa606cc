"""`idemnet`: what is done beside running pipelines, for which there is `kedro run`."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from idemnet.errors import BadInputError

if TYPE_CHECKING:
    from idemnet.models.exporting import Format
    from idemnet.restorer import Restorer

# Repeated here because their home would have to be imported, which takes too long for `--help`.
PROTOCOLS = ("gopro", "realblur", "rgb", "griddehaze", "rain")
TASKS = ("deblur", "dehaze", "derain")
EXISTING = click.Path(exists=True, path_type=Path)


class OneSentence(click.Group):
    """Commands that say in a sentence what is wrong, and show a traceback only when asked."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            if ctx.params["debug"]:
                raise
            if isinstance(error, BadInputError):
                click.echo(f"Error: {error}", err=True)
                raise SystemExit(2) from None
            click.echo(
                f"Error: {type(error).__name__}: {error} (idemnet --debug ... shows where)",
                err=True,
            )
            raise SystemExit(1) from None


def load_restorer(task: str, weights: str | None, **how: Any) -> "Restorer":
    """Load the task's own weights, or others that are for this task."""
    from idemnet.restorer import Restorer  # noqa: PLC0415  # torch takes seconds

    restorer = Restorer.load(weights or task, **how)
    if restorer.card["task"] != task:
        raise BadInputError(
            f"these weights are for task '{restorer.card['task']}', not '{task}': give --task"
        )
    return restorer


@click.group(
    cls=OneSentence, name="idemnet", context_settings={"help_option_names": ["-h", "--help"]}
)
@click.option("--debug", is_flag=True, help="Show where an error comes from.")
def main(debug: bool) -> None:
    """Image restoration networks whose second pass changes nothing."""


@main.group()
def track() -> None:
    """Training runs in MLflow."""


@track.command()
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default="data/06_models/runs",
    show_default=True,
    help="Folder below which journals are looked for.",
)
def replay(root: Path) -> None:
    """Copy to MLflow what it missed while it could not be reached.

    To where each run was meant to go, or to MLFLOW_TRACKING_URI.
    """
    # Inside, so that `idemnet --help` is there at once.
    from idemnet.datasets.journal import JOURNAL  # noqa: PLC0415
    from idemnet.datasets.mlflow_store import Progress, configure, upload  # noqa: PLC0415
    from idemnet.datasets.mlflow_uri import explain, tracking_uri  # noqa: PLC0415
    from idemnet.datasets.tracking import project_root  # noqa: PLC0415

    configure(patience=30)
    failed = False
    for journal in sorted(root.rglob(JOURNAL)):
        progress = Progress(journal.parent)
        uri = tracking_uri(progress.uri, project_root(root))
        try:
            lines = upload(journal.parent, uri, progress.experiment)
        except Exception as error:  # of any kind: the next one may go well
            failed = True
            result = f"MLflow says: {explain(error, uri)}"
        else:
            result = f"copied {lines} lines" if lines else "nothing to do"
        click.echo(f"{journal.parent.relative_to(root)}: {result}")
    if failed:
        raise SystemExit(1)


@main.group()
def weights() -> None:
    """Weights of networks, and the cards beside them."""


@weights.command(name="import")
@click.argument("model", type=click.Choice(["dmphn"]))
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default="data/06_models/imported/dmphn",
    show_default=True,
    help="Folder to write; weights that are there are replaced.",
)
@click.option(
    "--stack",
    type=click.IntRange(min=1),
    help="Stacks to read; by default as many as there are files for.",
)
def import_(model: str, folder: Path, output: Path, stack: int | None) -> None:
    """Take over weights that others have released.

    FOLDER holds the files as their authors publish them; for dmphn encoder_lv1.pkl to
    decoder_lv4.pkl, or encoder_s1_lv1.pkl and so on for stacks. They are read as tensors, never as
    code. What is written restores, starts a training (initialize_from) and can be evaluated as
    weights that were trained here.
    """
    from idemnet.datasets.legacy_weights import import_dmphn  # noqa: PLC0415

    import_dmphn(folder, output, stack=stack)
    click.echo(f"{output / 'weights.safetensors'}: {model}, with its card")


@main.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Folder for the results, or a file's name where INPUT is one file.",
)
@click.option(
    "--task",
    type=click.Choice(TASKS),
    default="deblur",
    show_default=True,
    help="What to remove: blur, haze or rain.",
)
@click.option(
    "--weights", metavar="PATH|mlflow:NAME@ALIAS", help="Other weights than the task's own."
)
@click.option(
    "--passes",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="Restorations one after the other.",
)
@click.option(
    "--device",
    type=click.Choice(["auto", "cuda", "mps", "cpu"]),
    default="auto",
    show_default=True,
    help="Where to compute.",
)
@click.option("--memory", metavar="SIZE", help="What it may take, as 2GB; by default it may all.")
@click.option(
    "--explain",
    is_flag=True,
    help="Write into NAME_explained what each iteration did, and say what changed.",
)
@click.option("--force", is_flag=True, help="Write over results that are there.")
def restore(
    *,
    inputs: tuple[str, ...],
    output: Path | None,
    task: str,
    weights: str | None,
    passes: int,
    device: str,
    memory: str | None,
    explain: bool,
    force: bool,
) -> None:
    """Restore pictures (PNG, JPEG, TIFF, WebP, BMP) and videos (mp4, mov, mkv, webm) of any size.

    INPUT is a file, a folder of pictures, or a pattern. photo.jpg becomes photo_restored.jpg beside
    it, a folder FOLDER_restored with the same files below. Depth, transparency, metadata and colour
    profile are kept, and a video's sound and timing. Results that are there are left alone, inputs
    are never written to. What cannot be restored is named, the others are done, and the exit code
    is 1. A video that was begun is gone on with.
    """
    from idemnet.errands import plan_errands  # noqa: PLC0415

    if explain and passes > 1:
        raise click.UsageError("--explain looks at one pass: leave out --passes.")
    errands = plan_errands(inputs, output)
    todo = [errand for errand in errands if force or not errand.target.exists()]
    if len(todo) < len(errands):
        click.echo(f"left alone, as they are there: {len(errands) - len(todo)} (see --force)")
    if not todo:
        return
    from idemnet.restore_files import restore_files  # noqa: PLC0415  # torch takes seconds

    restorer = load_restorer(task, weights, passes=passes, memory=memory, device=device)
    failures = restore_files(todo, restorer, click.echo, explained=explain)
    if len(todo) > 1:
        click.echo(f"{len(todo) - len(failures)} of {len(todo)} restored")
    for failure in failures:
        click.echo(f"Error: {failure}", err=True)
    if failures:
        raise SystemExit(1)


@main.command()
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help="Where it listens; by default the first free port from 7860 on.",
)
@click.option(
    "--compare",
    metavar="PATH|mlflow:NAME@ALIAS",
    help="Weights whose repeat curve is drawn beside, such as some trained without the constraint.",
)
def app(port: int | None, compare: str | None) -> None:
    """Restore pictures on a page in the browser, on this computer only.

    With the weights of each task that there are some for. Pictures leave this computer nowhere and
    are not kept: files are deleted after an hour, and when the program ends.
    """
    if find_spec("gradio") is None:
        raise BadInputError("the page is made with gradio: `pip install 'idemnet[app]'`")
    from idemnet.app.serve import serve  # noqa: PLC0415  # torch and gradio take seconds

    serve(compare, port)


@main.command()
@click.option(
    "--task",
    type=click.Choice(TASKS),
    default="deblur",
    show_default=True,
    help="What the network removes: blur, haze or rain.",
)
@click.option(
    "--weights", metavar="PATH|mlflow:NAME@ALIAS", help="Other weights than the task's own."
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["onnx", "pt2"]),
    required=True,
    help="ONNX, for any runtime, or torch's own.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write.  [default: idemnet-TASK.onnx or .pt2]",
)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def export(
    *, task: str, weights: str | None, kind: "Format", output: Path | None, force: bool
) -> None:
    """Make a network a program that runs without idemnet.

    It takes images of any size, (N, 3, H, W) of 32-bit floats, RGB from 0 to 1, as `image`, and
    gives `restored`, not clipped. Before it is written it is run on several sizes; if it does not
    give what the network gives, nothing is written.
    """
    output = output or Path(f"idemnet-{task}.{kind}")
    if output.exists() and not force:
        raise BadInputError(f"{output}: is there already, write over it with --force")
    restorer = load_restorer(task, weights, device="cpu")
    from idemnet.datasets.files import write_whole  # noqa: PLC0415
    from idemnet.models.exporting import export_network  # noqa: PLC0415

    card = restorer.card
    about = {
        "task": task,
        "sha256": card["sha256"],
        "description": f"{card['architecture']} network for {task}, "
        f"{card['parameters']:,} parameters, by idemnet {card['idemnet']}",
    }
    program = export_network(restorer.model, kind, about)
    output.parent.mkdir(parents=True, exist_ok=True)
    size, _ = write_whole(output, [program.content])
    click.echo(
        f"{output}: {size / 1e6:.1f} MB, differs from the network by at most "
        f"{program.difference:.1e}"
    )


@main.command()
@click.argument("restored", type=EXISTING)
@click.argument("reference", type=EXISTING)
@click.option(
    "--protocol", type=click.Choice(PROTOCOLS), required=True, help="How the data set is scored."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the scores of each image.")
@click.option("--each", is_flag=True, help="Print the scores of each image.")
@click.option("--task", type=click.Choice(TASKS), help="Refuse a protocol that is not this task's.")
@click.option("--force", is_flag=True, help="Score by a protocol that is not the task's.")
@click.option(
    "--crop-reference",
    type=click.IntRange(min=0),
    default=0,
    metavar="PIXELS",
    help="Cut so much from each side of references that are larger by just that: 10 for RESIDE.",
)
def score(
    *,
    restored: Path,
    reference: Path,
    protocol: str,
    as_json: bool,
    each: bool,
    task: str | None,
    force: bool,
    crop_reference: int,
) -> None:
    """Score images against references, whatever method they are from.

    RESTORED and REFERENCE are two folders, whose images are paired by their paths without suffix,
    or two files. Images that are unpaired, unreadable or of another size are listed, and then
    nothing is scored. Grey counts as three equal channels; 16-bit grey is rounded to 8 bits, 16-bit
    colour and transparency are refused. PSNR is counted up to 100 dB, which is what identical
    images get.
    """
    from idemnet.datasets.pictures import find_pictures  # noqa: PLC0415
    from idemnet.evaluation.protocols import PROTOCOLS, check_fits  # noqa: PLC0415
    from idemnet.evaluation.scoring import CROPPING, pair_by_stem, score_pairs  # noqa: PLC0415
    from idemnet.machine import cores  # noqa: PLC0415
    from idemnet.progress import count_items  # noqa: PLC0415

    if restored.is_file() != reference.is_file():
        raise click.UsageError("RESTORED and REFERENCE must be two folders, or two files.")
    if crop_reference and protocol not in CROPPING:
        raise click.UsageError(f"--crop-reference is for {' and '.join(CROPPING)} only.")
    if task is not None:
        check_fits(protocol, task, force)
    ours, theirs = find_pictures(restored), find_pictures(reference)
    if restored.is_file():  # two files are a pair whatever they are called
        theirs = [(ours[0][0], theirs[0][1])]
    pairs, faults = pair_by_stem(ours, theirs)
    with count_items("score", len(pairs)) as advance:
        figures = score_pairs(
            pairs, faults, PROTOCOLS[protocol],
            crop=crop_reference, threads=cores(), advance=advance,
        )  # fmt: skip
    click.echo(json.dumps(figures.as_json(), indent=2) if as_json else figures.as_text(each=each))


@main.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default="comparison.svg",
    show_default=True,
    help="Figure of the repeat curves: .svg, .png or .pdf.",
)
def compare(runs: tuple[str, ...], output: Path) -> None:
    """Set tracked runs side by side: figures, parameters that differ, repeat curves.

    RUN is a run's name, the beginning of its MLflow number, or a tag as key=value, which takes all
    runs that carry it. They are looked up in MLFLOW_TRACKING_URI, or in the project's own store.
    """
    from idemnet.datasets.files import write_whole  # noqa: PLC0415
    from idemnet.datasets.mlflow_query import find_runs  # noqa: PLC0415
    from idemnet.datasets.mlflow_uri import tracking_uri  # noqa: PLC0415
    from idemnet.datasets.tracking import project_root  # noqa: PLC0415
    from idemnet.evaluation.figures import columns  # noqa: PLC0415
    from idemnet.reporting.comparison import (  # noqa: PLC0415
        draw_repeat_curves,
        tabulate,
        warn,
    )

    kind = output.suffix.lstrip(".").lower()
    if kind not in ("svg", "png", "pdf"):
        raise click.UsageError(f"--output must end in .svg, .png or .pdf, not '{output.suffix}'.")
    found = find_runs(tracking_uri("", project_root(Path.cwd())), runs)
    click.echo("\n".join(columns(tabulate(found))))
    if reason := warn(found):
        click.echo(reason, err=True)
    write_whole(output, [draw_repeat_curves(found, kind)])
    click.echo(f"repeat curves: {output}")
