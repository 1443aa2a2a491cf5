"""The command line in the user's language: which one it is, and help and errors of the program in it.

Typer's own words are English, whatever the locale. Where another language is spoken, they are put into it here.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from npuify.language import ENGLISH, LANGUAGES, mark, phrase, speak, spoken, width_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

_TOLD: Final = "npuify.language"
"""Set in the context of a command whose language was said on the command line."""
_BRACKETS: Final = re.compile(r"\[(default: [^\]]*|required)\]$")


def language_on(arguments: Sequence[str]) -> str:
    """The language that the command line asks for; empty where it asks for none.

    Read before anything else is, since ``--help`` is answered at once. Behind ``--``, and behind the program that a
    command starts, options are not npuify's.
    """
    passes_on = False
    for at, argument in enumerate(arguments):
        if argument == "--" or (passes_on and not argument.startswith("-")):
            break
        if not argument.startswith("-"):
            passes_on = argument in ("run", "simulate", "trace", "capture")
        name, equals, value = argument.partition("=")
        if name == "--language":
            said = value if equals else next(iter(arguments[at + 1 :]), "")
            return said if said in LANGUAGES else ""
    return ""


def speak_as_project(paths: Iterable[Path]) -> None:
    """Speak the language that the project's settings ask for, where the command line asks for none.

    Raises:
        NpuifyError: the project's settings are wrong.
    """
    from npuify.project.config import load_config
    from npuify.project.files import common_root

    speak_as_configured(load_config(common_root(list(paths))).language)


def speak_as_configured(language: str | None) -> None:
    """Speak ``language``, where the project's settings name one and the command line does not."""
    if language and not language_was_said():
        speak(language)


def language_was_said() -> bool:
    """Whether the command line of the command that runs names a language."""
    context = _context()
    return context is not None and bool(context.meta.get(_TOLD))


def _context() -> Any:
    """The context of the command that runs; None where none does."""
    from importlib import import_module
    from importlib.util import find_spec

    # Typer has its own copy of click since 0.24.
    click = "typer._click" if find_spec("typer._click") else "click"
    return import_module(f"{click}.globals").get_current_context(silent=True)


def _spoken_from_here(context: typer.Context, value: str | None) -> None:
    if value is not None:
        if value not in LANGUAGES:
            raise typer.BadParameter(phrase("one of {languages}", languages=", ".join(LANGUAGES)))
        context.meta[_TOLD] = value
        speak(value)


def _option() -> Any:
    return typer.core.TyperOption(
        param_decls=["--language"],
        expose_value=False,
        is_eager=True,
        callback=lambda context, parameter, value: _spoken_from_here(context, value),
        metavar="en|zh",
        help="The language of all text for people; default: the project's, else the locale's.",
        show_default=False,
    )


_ContextOfTyper: Any = TyperCommand.context_class
_FormatterOfTyper: Any = _ContextOfTyper.formatter_class


class _Formatter(_FormatterOfTyper):  # type: ignore[misc]
    """Help pages in the user's language, for a terminal in which a Chinese character is two columns wide."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        if spoken() == ENGLISH:
            super().write_usage(prog, args, prefix)
            return
        places = {"[OPTIONS]": phrase("[OPTIONS]"), "COMMAND": phrase("COMMAND"), "[ARGS]...": phrase("[ARGS]...")}
        for english, other in places.items():
            args = args.replace(english, other)
        self.write(f"{'':>{self.current_indent}}{phrase('Usage: ')}{prog} {args}\n")

    def write_heading(self, heading: str) -> None:
        known = {
            "Arguments": phrase("Arguments"),
            "Options": phrase("Options"),
            "Commands": phrase("Commands"),
        }
        if spoken() == ENGLISH:
            super().write_heading(heading)
        else:
            self.write(f"{'':>{self.current_indent}}{known.get(heading, heading)}：\n")

    def write_text(self, paragraphs: str) -> None:
        if spoken() == ENGLISH:
            super().write_text(paragraphs)
            return
        indent = " " * self.current_indent
        width = max(self.width - self.current_indent, 11)
        wrapped = [
            "\n".join(indent + line for line in wrapped_lines(paragraph, width))
            for paragraph in paragraphs.split("\n\n")
        ]
        self.write("\n\n".join(wrapped) + "\n")

    def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        if spoken() == ENGLISH:
            super().write_dl(rows, col_max, col_spacing)
            return
        first = min(max((width_of(row[0]) for row in rows), default=0), col_max) + col_spacing
        width = max(self.width - first - 2, 10)
        for name, said in rows:
            self.write(f"{'':>{self.current_indent}}{name}")
            lines = wrapped_lines(_in_language(said), width)
            if lines:
                fits = width_of(name) <= first - col_spacing
                begin = " " * (first - width_of(name)) if fits else "\n" + " " * (first + self.current_indent)
                self.write(begin + lines[0] + "\n")
                for line in lines[1:]:
                    self.write(" " * (first + self.current_indent) + line + "\n")
            else:
                self.write("\n")


def _in_language(said: str) -> str:
    """The help of a parameter, with what Typer puts behind it."""
    match = _BRACKETS.search(said)
    behind = ""
    if match is not None:
        said = said[: match.start()].rstrip()
        value = match[1].partition(": ")[2]
        behind = phrase("[default: {value}]", value=value) if value else phrase("[required]")
    if said == "Show this message and exit.":
        return phrase("Show this message and exit.")
    return f"{phrase(said)}{behind}" if said else behind


class _Context(_ContextOfTyper):  # type: ignore[misc]
    formatter_class = _Formatter


class Command(TyperCommand):
    """A command with ``--language``, whose help is in the user's language."""

    context_class = _Context

    def __init__(self, name: str | None, **others: Any) -> None:
        super().__init__(name, **_prepared(others))


class Group(TyperGroup):
    """As :class:`Command`, for what holds commands."""

    context_class = _Context

    def __init__(self, *, name: str | None = None, commands: Any = None, **others: Any) -> None:
        super().__init__(name=name, commands=commands, **_prepared(others))


def _prepared(settings: dict[str, Any]) -> dict[str, Any]:
    parameters = list(settings.get("params") or ())
    if not any("--language" in parameter.opts for parameter in parameters):
        parameters.append(_option())
    for parameter in parameters:
        if getattr(parameter, "help", None):
            parameter.help = phrase(parameter.help)
    paragraphs = [" ".join(paragraph.split()) for paragraph in (settings.get("help") or "").split("\n\n")]
    if spoken() == ENGLISH:
        return {**settings, "params": parameters}
    told = [phrase(paragraph) for paragraph in paragraphs]
    short = told[0].partition("。")[0]
    return {**settings, "params": parameters, "help": "\n\n".join(told), "short_help": short}


# --- lines of a help page ---

_NEVER_FIRST: Final = "、，。；：？！）》」』”’…"
_NEVER_LAST: Final = "（《「『“‘"


@cache
def _pieces() -> re.Pattern[str]:
    """What a line may be broken between. Made when it is wanted: so large a set of characters takes 10 ms."""
    return re.compile(rf"\s+|[{_NEVER_LAST}]*(?:[^\s\u2e80-\uffef]+|[\u2e80-\uffef])[{_NEVER_FIRST}]*")


def wrapped_lines(paragraph: str, width: int) -> list[str]:
    """A paragraph in lines of at most ``width`` columns; a line may end behind any Chinese character."""
    lines, line = [], ""
    for piece in _pieces().findall(" ".join(paragraph.split())):
        if line and width_of(line) + width_of(piece.rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        line += piece if line or piece.strip() else ""
    return [*lines, line.rstrip()] if line.strip() else lines


# --- errors of Typer's ---

_COMPLETION: Final = (
    mark("Install completion for the current shell."),
    mark("Show completion for the current shell, to copy it or customize the installation."),
)
"""What Typer says of its own options."""

_ERRORS: Final = (
    (
        r"No such option: (?P<name>\S+) \(Possible options: (?P<names>.*)\)",
        mark("There is no option {name}; did you mean one of {names}?"),
    ),
    (r"No such option: (?P<name>\S+)(?: Did you mean (?P<other>.+)\?)?", mark("There is no option {name}.")),
    (r"No such command (?P<name>'.*?')\..*", mark("There is no command {name}.")),
    (r"Missing command\.", mark("Name a command.")),
    (r"Missing argument (?P<name>'.*?')\.", mark("The argument {name} is missing.")),
    (r"Missing option (?P<name>'.*?')\.", mark("The option {name} is missing.")),
    (r"Option (?P<name>'.*?') requires an argument\.", mark("The option {name} needs a value.")),
    (r"Option (?P<name>'.*?') does not take a value\.", mark("The option {name} takes no value.")),
    (
        r"Got unexpected extra arguments? \((?P<names>.*)\)",
        mark("These arguments are too many: {names}."),
    ),
    (
        r"Invalid value for (?P<name>.*?): (?P<value>'.*?') is not one of (?P<values>.*)\.",
        mark("{value} is no value for {name}; it takes one of {values}."),
    ),
    (
        r"Invalid value for (?P<name>.*?): (?P<value>'.*?') is not a valid (?P<kind>.*)\.",
        mark("{value} is no value for {name}."),
    ),
    (
        r"Invalid value for (?P<name>.*?): (?P<value>.*?) is not in the range (?P<range>.*)\.",
        mark("{value} is no value for {name}; it has to be in the range {range}."),
    ),
    (r"Invalid value for (?P<name>.*?): (?P<why>.*)", mark("The value for {name} is wrong: {why}")),
)
"""What Typer says, and what npuify says in another language in its place."""


def run_in_language(program: typer.Typer) -> None:
    """Run the program; what Typer finds wrong with the command line is said in the user's language."""
    if spoken() == ENGLISH:
        program(prog_name="npuify")
        return
    import sys

    wrong: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
    try:
        code = program(prog_name="npuify", standalone_mode=False)
    except wrong as error:
        _say(error)
        raise SystemExit(error.exit_code) from None
    except typer.Abort:
        raise SystemExit(1) from None
    sys.exit(code if isinstance(code, int) else 0)


def _say(error: Any) -> None:
    context = getattr(error, "ctx", None)
    if context is not None and type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(context.get_help(), err=True)
        return
    if context is not None:
        typer.echo(context.get_usage(), err=True)
        typer.echo(phrase("Try '{command}' for help.", command=f"{context.command_path} --help") + "\n", err=True)
    typer.echo(phrase("Error: {message}", message=_error_in_language(error.format_message())), err=True)


def _error_in_language(english: str) -> str:
    for pattern, template in _ERRORS:
        match = re.fullmatch(pattern, english, re.DOTALL)
        if match is not None:
            return phrase(template, **{name: value or "" for name, value in match.groupdict().items()})
    return english
