"""The other commands as forms: what each asks, and the command line that it makes. The commands do the work."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

import msgspec

from npuify.language import commas, phrase
from npuify.model import NpuifyError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Field(msgspec.Struct, frozen=True):
    """One question of a form. The page names it by ``name``, in the user's language."""

    name: str
    kind: str
    """``folder``, ``file``, ``drop`` (a file dropped in, or chosen), ``text``, ``number``, ``choice``, ``flag``,
    ``command`` (a command line) or ``cwd`` (the folder to run in)."""
    flag: str = ""
    """The option; empty for an argument."""
    choices: tuple[str, ...] = ()
    needed: bool = False
    default: str = ""


class Tool(msgspec.Struct, frozen=True):
    """A command that has a page."""

    name: str
    command: tuple[str, ...]
    fields: tuple[Field, ...]
    runs: bool = False
    """Whether it runs the project's own code: the page says so, and asks before."""
    live: bool = False
    """Whether it is made anew with each change of the form, since it only shows something."""


_RELEASE: Final = Field("torch_npu", "text", "--torch-npu")
_DESTINATION: Final = Field("destination", "folder", "-o")
TOOLS: Final = (
    Tool(
        "distribute",
        ("distribute",),
        (
            Field("source", "folder", needed=True),
            Field("entry", "text", "--entry", needed=True, default="train.py"),
            _DESTINATION,
            Field("diff", "flag", "--diff", default="yes"),
            Field("model", "text", "--model"),
            Field("sync_batchnorm", "flag", "--sync-batchnorm"),
            Field("scale_lr", "choice", "--scale-lr", ("", "linear", "sqrt")),
            Field("global_batch", "choice", "--global-batch", ("grow", "keep")),
            Field("complete", "flag", "--complete"),
            _RELEASE,
        ),
    ),
    Tool(
        "launch",
        ("launch",),
        (
            Field("cwd", "cwd", needed=True),
            Field("program", "command", needed=True, default="train.py"),
            Field("method", "choice", "--method", ("torchrun", "shell", "spawn", "launch", "torch_npu_run")),
            Field("cards", "number", "--cards", default="8"),
            Field("nodes", "number", "--nodes"),
            Field("master", "text", "--master"),
            Field("port", "number", "--port"),
            Field("interface", "text", "--interface"),
            Field("vendor_script", "flag", "--vendor-script"),
            Field("output", "folder", "-o"),
            Field("soc", "text", "--soc"),
            _RELEASE,
        ),
        live=True,
    ),
    Tool(
        "doctor",
        ("doctor",),
        (
            Field("captured", "drop", "--from"),
            Field("project", "folder", "--project"),
            Field("no_smoke", "flag", "--no-smoke", default="yes"),
        ),
    ),
    Tool(
        "diagnose",
        ("diagnose",),
        (Field("logs", "drop", needed=True), Field("project", "folder", "--project")),
    ),
    Tool(
        "verify-loss",
        ("verify", "loss"),
        (
            Field("reference", "drop", needed=True),
            Field("target", "drop", needed=True),
            Field("metric", "text", "--metric"),
            Field("tolerance", "text", "--tolerance", default="0.01"),
            Field("first", "number", "--first"),
            Field("common", "flag", "--common"),
        ),
    ),
    Tool(
        "verify-compare",
        ("verify", "compare"),
        (Field("reference", "folder", needed=True), Field("target", "folder", needed=True)),
    ),
    Tool(
        "verify-steps",
        ("verify", "steps"),
        (
            Field("source", "folder", needed=True),
            Field("migrated", "folder", "--migrated"),
            Field("entry", "text", "--entry", needed=True, default="train.py --device={device}"),
            Field("data", "text", "--data"),
            Field("short", "flag", "--short", default="yes"),
            Field("target_device", "choice", "--target", ("auto", "npu", "simulated")),
        ),
        runs=True,
    ),
    Tool(
        "simulate",
        ("simulate",),
        (
            Field("cwd", "cwd", needed=True),
            Field("program", "command", needed=True, default="train.py"),
            Field("devices", "number", "--devices", default="8"),
            Field("memory", "text", "--memory", default="64GiB"),
            Field("soc", "text", "--soc"),
            Field("policy", "choice", "--policy", ("warn", "error", "off")),
            _RELEASE,
        ),
        runs=True,
    ),
)


def arguments(tool: Tool, values: Mapping[str, Any]) -> list[str]:
    """What follows ``npuify`` on the command line.

    Args:
        values: by the names of fields; what is empty was not said. Those of ``drop`` are lists of paths.

    Raises:
        NpuifyError: what is needed is missing, or an answer is none of the choices.
    """
    options: list[str] = []
    positional: list[str] = []
    program: list[str] = []
    for field in tool.fields:
        value = values.get(field.name, "")
        if not value:
            if field.needed:
                raise NpuifyError(phrase("{name} is missing", name=field.name))
            continue
        if field.choices and value not in field.choices:
            raise NpuifyError(phrase("{name} is none of {choices}", name=field.name, choices=commas(field.choices)))
        if field.kind == "number" and not str(value).isdecimal():
            raise NpuifyError(phrase("{name} is no number", name=field.name))
        if field.kind == "cwd":
            continue
        if field.kind == "flag":
            options.append(field.flag)
        elif field.kind == "command":
            try:
                program = shlex.split(str(value))
            except ValueError as error:
                raise NpuifyError(phrase("the command cannot be read: {error}", error=error)) from None
        else:
            for one in value if isinstance(value, list) else [value]:
                # One word, so that no value is taken for an option.
                said = f"{field.flag}={one}" if field.flag.startswith("--") else f"{field.flag}{one}"
                (options if field.flag else positional).append(said)
    if tool.name == "launch" and program:
        return [*tool.command, *options, "--", *program]
    return [*tool.command, *options, *(["--", *positional] if positional else []), *program]


def tool_of(name: str) -> Tool:
    """The tool of that name.

    Raises:
        NpuifyError: there is none.
    """
    found = next((one for one in TOOLS if one.name == name), None)
    if found is None:
        raise NpuifyError(phrase("there is no page {name!r}", name=name))
    return found
