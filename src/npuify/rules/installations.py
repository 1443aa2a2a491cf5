"""``pip install`` lines, in notebooks, scripts and recipes: their packages are judged as those of requirement files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from msgspec import structs

from npuify.model import Edit, Finding, Position, Safety
from npuify.rules.dependencies import judge
from npuify.rules.dependency_file import DependencyFile
from npuify.source.pip_command import as_argument, pip_commands
from npuify.source.requirements import pip
from npuify.source.text import Text, UnreadableText

if TYPE_CHECKING:
    from npuify.rules.other_file import OtherFile
    from npuify.source.pip_command import PipCommand

_PINNED = re.compile(rb"(?<![\w-])torch==(\d+(?:\.\d+)*)")


class Editable(Protocol):
    """What a command stands in: a cell of a notebook, or a file."""

    @property
    def text(self) -> bytes:
        """Its whole text."""

    def edit(self, start: int, end: int, after: str) -> Edit | None:
        """The edit of a span of the text; None where it cannot be made."""


class _Whole:
    """A file as a whole."""

    def __init__(self, file: OtherFile) -> None:
        self.text = file.data
        self._source = file.source

    def edit(self, start: int, end: int, after: str) -> Edit:
        return Edit(start, end, self._source(start, end), after)


def judge_installations(data: bytes, start: int, end: int, file: OtherFile) -> None:
    """Report the packages that the command ``data[start:end]`` installs, if it is one of pip's.

    Args:
        data: the file's text, or a copy of the same length.
        start, end: where the command stands.
        file: gets the findings.
    """
    for command in pip_commands(data, start, end):
        if b"$" in command.text or b"`" in command.text:
            # What a variable stands for, the script's caller decides.
            continue
        try:
            listed = Text(command.text)
        except UnreadableText:
            continue
        requirements = DependencyFile(file.relative, listed, pip.read(command.text.decode("latin-1")), file.release)
        for finding in judge(requirements):
            lines = command.text.split(b"\n")
            offset = command.start + sum(len(line) + 1 for line in lines[: finding.start.line - 1])
            offset += finding.start.column - 1
            size = finding.end.column - finding.start.column if finding.start.line == finding.end.line else 0
            edits = argument_edits(finding, _Whole(file), command)
            made = tuple(sorted(edit for edit in edits if edit is not None))
            made = made if len(made) == len(edits) else ()
            safety = finding.safety if made else Safety.MANUAL
            pinned = _PINNED.search(command.text)
            other = pinned is not None and pinned.group(1).decode() != file.release.torch
            if made and (other or file.worker.project.supports_npu):
                # What a script pins is not asked when the release is chosen.
                safety = Safety.REVIEW
            place, last = file.text.position(offset), file.text.position(offset + size)
            file.add(structs.replace(finding, start=Position(*place), end=Position(*last), edits=made, safety=safety))


def argument_edits(finding: Finding, holder: Editable, command: PipCommand) -> list[Edit | None]:
    """Edits of requirements as edits of a command's arguments: in one line, in quotes where a shell asks for them."""
    text, shift = holder.text, command.start
    edits: list[Edit | None] = []
    inside: dict[tuple[int, int], list[Edit]] = {}
    for edit in finding.edits:
        start, end = edit.start + shift, edit.end + shift
        if not edit.after:
            gone = [span for span in command.arguments if start <= span[0] and span[1] <= end + 1]
            if gone:
                edits += [_without(holder, span) if len(command.arguments) > len(gone) else None for span in gone]
                continue
        argument = next((span for span in command.arguments if span[0] <= start and end <= span[1]), None)
        if argument is not None:
            inside.setdefault(argument, []).append(edit)
        else:
            # Part of an option, such as the address of an index.
            edits.append(holder.edit(start, end, edit.after) if "\n" not in edit.after else None)
    for (first, last), changes in inside.items():
        new, added, at = "", "", first
        for edit in changes:
            here, *more = edit.after.split("\n")
            new += text[at : edit.start + shift].decode("utf-8", "replace") + here
            added += "".join(f" {as_argument(item.strip())}" for item in more if item.strip())
            at = edit.end + shift
        new += text[at:last].decode("utf-8", "replace")
        is_quoted = text[first : first + 1] in (b"'", b'"')
        edits.append(holder.edit(first, last, (new if is_quoted else as_argument(new)) + added))
    return edits


def _without(holder: Editable, argument: tuple[int, int]) -> Edit | None:
    """Takes an argument out, with the blanks before it."""
    before = holder.text[: argument[0]]
    blanks = len(before) - len(before.rstrip(b" \t"))
    return holder.edit(argument[0] - blanks, argument[1], "") if blanks else None
