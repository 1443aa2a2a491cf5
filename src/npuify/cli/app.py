"""The program ``npuify`` with all its commands."""

from __future__ import annotations

from typing import Annotated

import typer

from npuify.cli.diagnose import diagnose
from npuify.cli.distribute import distribute
from npuify.cli.doctor import doctor
from npuify.cli.explain import explain
from npuify.cli.guard import guarded
from npuify.cli.handover.checklist import checklist
from npuify.cli.handover.skill import skill
from npuify.cli.knowledge import generate, list_releases, show
from npuify.cli.launch import launch
from npuify.cli.migrate import migrate
from npuify.cli.rules import rules
from npuify.cli.run import run
from npuify.cli.scaffold import training
from npuify.cli.scan import scan
from npuify.cli.schema import schema
from npuify.cli.simulate import CONTEXT, simulate
from npuify.cli.trace import trace
from npuify.cli.verify.capture import capture
from npuify.cli.verify.compare import compare
from npuify.cli.verify.loss import verify_loss
from npuify.cli.verify.profile import verify_profile
from npuify.cli.verify.steps import verify_steps

# Without markup typer does not load rich, which would cost more than all the rest of --help.
app = typer.Typer(
    name="npuify",
    help="Migrate a CUDA project to Huawei's Ascend NPU: scan it, migrate it, and see what is left to do.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
knowledge = typer.Typer(help="What is known about torch_npu releases.", no_args_is_help=True, rich_markup_mode=None)
verify = typer.Typer(
    help="Verify that a migrated program computes the same as the original.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
scaffold = typer.Typer(help="Create a new project.", no_args_is_help=True, rich_markup_mode=None)

app.command()(guarded(scan))
app.command()(guarded(migrate))
app.command()(guarded(distribute))
app.command()(guarded(explain))
app.command()(guarded(rules))
app.command()(guarded(doctor))
app.command()(guarded(diagnose))
app.command()(guarded(launch))
app.command(context_settings=CONTEXT)(guarded(run))
app.command(context_settings=CONTEXT)(guarded(simulate))
app.command(context_settings=CONTEXT)(guarded(trace))
app.command()(guarded(checklist))
app.command()(guarded(skill))
app.add_typer(knowledge, name="knowledge")
app.add_typer(scaffold, name="scaffold")
scaffold.command()(guarded(training))
knowledge.command("list")(guarded(list_releases))
knowledge.command()(guarded(show))
knowledge.command()(guarded(generate))
app.add_typer(verify, name="verify")
verify.command(context_settings=CONTEXT)(guarded(capture))
verify.command()(guarded(compare))
verify.command("loss")(guarded(verify_loss))
verify.command("profile")(guarded(verify_profile))
verify.command("steps")(guarded(verify_steps))
app.command()(guarded(schema))


def _version(wanted: bool) -> None:
    if wanted:
        from npuify.version import __version__

        typer.echo(f"npuify {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass
