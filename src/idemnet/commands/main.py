"""`idemnet`: every command except running pipelines, which `kedro run` does."""

import click

from idemnet import __version__
from idemnet.commands.app import app
from idemnet.commands.compare import compare
from idemnet.commands.export import export
from idemnet.commands.restore import restore
from idemnet.commands.score import score
from idemnet.commands.track import track
from idemnet.commands.weights import weights
from idemnet.errors import BadInputError


class ErrorReportingGroup(click.Group):
    """Reports errors in one sentence, and shows a traceback only with --debug."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order they were added, the most used first."""
        return list(self.commands)

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
            if isinstance(error, ModuleNotFoundError) and error.name not in (None, "idemnet"):
                click.echo(
                    f"Error: {error.name} is not installed, and this command needs it: "
                    "pip install 'idemnet[train]'",
                    err=True,
                )
                raise SystemExit(2) from None
            click.echo(
                f"Error: {type(error).__name__}: {error} (idemnet --debug ... shows the traceback)",
                err=True,
            )
            raise SystemExit(1) from None


@click.group(
    cls=ErrorReportingGroup,
    name="idemnet",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("--debug", is_flag=True, help="Show tracebacks of errors.")
@click.version_option(__version__)
def main(debug: bool) -> None:
    """Remove blur, haze and rain from pictures and videos.

    \b
      idemnet restore photo.jpg     writes photo_restored.jpg
      idemnet app                   the same in the browser

    Small weights are bundled; no internet and no GPU are needed. Train better ones with
    `kedro run`, as the README shows. For help on a command, run `idemnet COMMAND --help`.
    """  # noqa: D301 - \b tells click to keep the lines


for command in (restore, app, export, score, compare, weights, track):
    main.add_command(command)
