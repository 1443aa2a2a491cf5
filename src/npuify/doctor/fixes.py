"""The mending commands of a report as a script that a person reads and runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from npuify.language import mark, phrase
from npuify.model import NpuifyError
from npuify.report.doctor import ORDER, Status

if TYPE_CHECKING:
    from npuify.report.doctor import Report, Result

_PLACES: Final = {
    "machine": mark("On this machine"),
    "host": mark("On the host, outside the container"),
    "shell": mark("In the shell that starts the program: copy these lines there, since a script cannot do it"),
}
_CPU_INDEX: Final = re.compile(r"\s--index-url\s+\S+")


def fix_script(report: Report, mirror: str = "") -> str:
    """A POSIX shell script with the commands of every warning and error. npuify never runs it.

    Args:
        mirror: the address of a package index to install from, for machines that cannot reach the usual one.

    Raises:
        NpuifyError: the mirror is no address of a package index.
    """
    if mirror and not re.fullmatch(r"https?://[\w.~%:/@+-]+", mirror):
        raise NpuifyError(
            phrase("{mirror!r} is not the URL of a package index", mirror=mirror), advice="it must begin with https://"
        )
    lines = [
        "#!/bin/sh",
        "# "
        + phrase(
            "What npuify {version} suggests for {source}. Read it first; none of it was run.",
            version=report.tool,
            source=_one_line(report.source),
        ),
        "# "
        + phrase(
            "Lines that begin with '# ' need manual changes: they contain files or values that npuify cannot know."
        ),
        "set -eu",
    ]
    todo = [one for one in report.results if one.mend is not None and ORDER[one.status] >= ORDER[Status.WARNING]]
    for place, title in _PLACES.items():
        here = [one for one in todo if one.mend is not None and one.mend.place == place]
        if here:
            lines += ["", f"# === {phrase(title)} ==="]
            for one in here:
                lines += _block(one, mirror, commented=place != "machine")
    if not todo:
        lines += ["", f"# {phrase('There is nothing to mend.')}"]
    return "\n".join(lines) + "\n"


def _block(result: Result, mirror: str, *, commented: bool) -> list[str]:
    assert result.mend is not None
    lines = ["", f"# {result.check}: {_one_line(result.message)}"]
    if result.advice:
        lines.append(f"#   {_one_line(result.advice)}")
    if result.mend.root:
        lines.append(f"#   {phrase('as root:')}")
    for command in result.mend.commands:
        text = _one_line(_with_mirror(command, mirror))
        lines.append(f"# {text}" if commented and not text.startswith("#") else text)
    return lines


def _with_mirror(command: str, mirror: str) -> str:
    """``command`` with ``pip install`` looking at ``mirror``.

    An index that a command names itself stays as a further one: mirrors of the package index seldom hold torch's builds
    for the CPU.
    """
    if not mirror or not command.startswith("pip install "):
        return command
    named = _CPU_INDEX.search(command)
    extra = named[0].replace("--index-url", "--extra-index-url") if named else ""
    return f"{_CPU_INDEX.sub('', command)} --index-url {mirror}{extra}"


def _one_line(text: str) -> str:
    """Text of the machine must not become commands of the script."""
    return " ".join(re.sub(r"[\x00-\x1f\x7f]", " ", text).split())
