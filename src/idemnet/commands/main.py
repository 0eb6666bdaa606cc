"""`idemnet`: what is done beside running pipelines, for which there is `kedro run`."""

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


class OneSentence(click.Group):
    """Commands that say in a sentence what is wrong, and show a traceback only when asked."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Begin with what most people are here for."""
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
                    f"Error: this needs more than restoring does ({error.name} is not installed): "
                    "pip install 'idemnet[train]'",
                    err=True,
                )
                raise SystemExit(2) from None
            click.echo(
                f"Error: {type(error).__name__}: {error} (idemnet --debug ... shows where)",
                err=True,
            )
            raise SystemExit(1) from None


@click.group(
    cls=OneSentence, name="idemnet", context_settings={"help_option_names": ["-h", "--help"]}
)
@click.option("--debug", is_flag=True, help="Show where an error comes from.")
@click.version_option(__version__)
def main(debug: bool) -> None:
    """Remove blur, haze and rain from pictures and videos.

    \b
      idemnet restore photo.jpg     writes photo_restored.jpg beside it
      idemnet app                   the same on a page in the browser

    Small weights come with idemnet; no internet and no GPU are needed. Better ones are trained with
    `kedro run`, as the README shows. `idemnet COMMAND --help` says more about each command.
    """  # noqa: D301 - \b tells click to keep the lines


for command in (restore, app, export, score, compare, weights, track):
    main.add_command(command)
