"""The program ``npuify``: its commands, of which only the one that is called is loaded."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, NamedTuple

import typer

from npuify.cli.common.guard import guarded
from npuify.cli.common.language import Command, Group

_PASSES_ON = {"allow_interspersed_args": False, "ignore_unknown_options": True, "allow_extra_args": True}
"""How a command is read that starts a program: what it does not know is the program's."""


class _Command(NamedTuple):
    """A command, and the function for it: ``module:function`` below ``npuify.cli``."""

    group: str
    name: str
    function: str
    passes_on: bool = False


_COMMANDS = (
    _Command("", "port", "port:port"),
    _Command("", "scan", "scan:scan"),
    _Command("", "migrate", "migrate:migrate"),
    _Command("", "distribute", "distribute:distribute"),
    _Command("", "explain", "explain:explain"),
    _Command("", "rules", "rules:rules"),
    _Command("", "doctor", "doctor:doctor"),
    _Command("", "diagnose", "diagnose:diagnose"),
    _Command("", "selftest", "selftest:selftest"),
    _Command("", "launch", "launch:launch"),
    _Command("", "run", "run:run", passes_on=True),
    _Command("", "simulate", "simulate:simulate", passes_on=True),
    _Command("", "trace", "trace:trace", passes_on=True),
    _Command("", "checklist", "handover.checklist:checklist"),
    _Command("", "skill", "handover.skill:skill"),
    _Command("", "studio", "servers.studio:studio"),
    _Command("", "lsp", "servers.lsp:lsp"),
    _Command("", "mcp", "servers.mcp:mcp"),
    _Command("", "schema", "schema:schema"),
    _Command("fleet", "scan", "fleet:scan"),
    _Command("fleet", "report", "fleet:report"),
    _Command("fleet", "status", "fleet:status"),
    _Command("fleet", "migrate", "fleet:migrate"),
    _Command("knowledge", "list", "knowledge:list_releases"),
    _Command("knowledge", "show", "knowledge:show"),
    _Command("knowledge", "learn", "knowledge:learn"),
    _Command("knowledge", "generate", "knowledge:generate"),
    _Command("knowledge", "generate-tensorflow", "knowledge:generate_tensorflow"),
    _Command("scaffold", "training", "scaffold:training"),
    _Command("verify", "capture", "verify.capture:capture", passes_on=True),
    _Command("verify", "compare", "verify.compare:compare"),
    _Command("verify", "loss", "verify.loss:verify_loss"),
    _Command("verify", "profile", "verify.profile:verify_profile"),
    _Command("verify", "steps", "verify.steps:verify_steps"),
)
_GROUPS = {
    "fleet": "Many projects at once: which can move, and what blocks most.",
    "knowledge": "What is known about torch_npu releases.",
    "scaffold": "Create a new project.",
    "verify": "Verify that a migrated program computes the same as the original.",
}


def _version(wanted: bool) -> None:
    if wanted:
        from npuify.version import __version__

        typer.echo(f"npuify {__version__}")
        raise typer.Exit


def _program(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def program(wanted: str = "") -> typer.Typer:
    """The program; with one of its commands or groups alone where that is what is ``wanted``, since reading the
    modules of all of them takes longer than scanning a small project."""
    chosen = [one for one in _COMMANDS if wanted == (one.group or one.name)] or _COMMANDS
    # Without markup typer does not load rich, which would cost more than all the rest of --help.
    app = typer.Typer(
        name="npuify",
        cls=Group,
        help="Migrate a CUDA project to Huawei's Ascend NPU: scan it, migrate it, and see what is left to do.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_program)
    groups = {"": app}
    for one in chosen:
        if one.group not in groups:
            group = typer.Typer(cls=Group, help=_GROUPS[one.group], no_args_is_help=True, rich_markup_mode=None)
            app.add_typer(group, name=one.group)
            groups[one.group] = group
        module, _, name = one.function.partition(":")
        function = getattr(import_module(f"npuify.cli.{module}"), name)
        context = _PASSES_ON if one.passes_on else None
        groups[one.group].command(one.name, cls=Command, context_settings=context)(guarded(function))
    return app
