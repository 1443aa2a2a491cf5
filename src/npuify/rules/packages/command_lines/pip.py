"""What lines of scripts, Dockerfiles and notebooks install: the rules for requirements, in a shell's quotes."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from msgspec import structs

from npuify.language import phrase, semicolons
from npuify.model import Edit, Position, Safety, Severity
from npuify.rules.common.paddle import lies_with_paddle, stands_without_torch
from npuify.rules.packages.command_lines.plugins import judge_plugins
from npuify.rules.packages.dependencies import judge
from npuify.rules.packages.dependency_file import DependencyFile
from npuify.rules.packages.replaced_uses import safety_of_leaving
from npuify.rules.packages.torch_set import COMPANION, INDEX, TORCH
from npuify.source.pip_command import as_argument, pip_commands, pip_words
from npuify.source.requirements import pip
from npuify.source.text import Text, UnreadableText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Finding
    from npuify.rules.text_file import Replacement, TextFile
    from npuify.source.pip_command import PipCommand

_GAP = re.compile(rb"(?:[ \t]|\\\r?\n)+\Z")
_NPU = re.compile(rb"(?i)\btorch[-_]npu\b")
_VERSION_EXPANDED = re.compile(rb"(?<=[\w\]])[=<>~!]{1,3}[^\s\"',;]*[$`][^\s\"';]*")
_EXPANDED = re.compile(rb"[$`]")
_BY_VARIABLE = re.compile(r"(?P<head>[\w.-]+(?:\[[\w,.-]*\])?==)\$(?:\{(?P<braced>\w+)\}|(?P<plain>\w+))(?:\+cu\d+)?")
"""A version that is one variable, and perhaps a build for CUDA."""
_NEW_VERSION = re.compile(r"[\w.-]+(?:\[[\w,.-]*\])?==(?P<version>[\w.]+)")
_CUDA_BUILD = re.compile(rb"\+cu\d")
_BY_HAND = "change it by hand: the shell assembles this part of the command"
_NOTHING_ELSE = "remove the whole command: it installs nothing else"
_FROM_FILE = re.compile(rb"(?:^|\s)(?:-r|--requirement)[ \t=]")


def judge_pip_lines(data: bytes, start: int, end: int, file: TextFile) -> None:
    """Report what becomes of the packages that a command installs.

    Args:
        data: the file's text, or a copy of the same length in which what is no shell is blanked.
        start, end: where the command stands.
        file: gets the findings.
    """
    for command in pip_commands(data, start, end):
        # torch-npu may be installed by a line of its own, as its installation guide does.
        has_pair = b"torch" in command.text and any(_NPU.search(one.text) for one in pip_commands(data, 0, len(data)))
        _judge_command(command, data, file, has_pair=has_pair)


def judge_pip_words(data: bytes, start: int, end: int, file: TextFile) -> None:
    """As :func:`judge_pip_lines`, of the list of words that a Dockerfile may give a command by."""
    for command in pip_words(data, start, end):
        has_pair = b"torch" in command.text and _NPU.search(data) is not None
        _judge_command(command, data, file, has_pair=has_pair)


def _judge_command(command: PipCommand, data: bytes, file: TextFile, *, has_pair: bool) -> None:
    judge_plugins(command, data, file)
    placed = []
    for finding in _judged(command, file):
        if not (has_pair and finding.code == TORCH.code):
            one = for_workflow(place_in_line(finding, command, data, file), file)
            # What scripts install has no part in the choice of the release, so that its pin may be meant otherwise.
            # A notebook installs for itself.
            is_script = not file.relative.endswith(".ipynb")
            if finding.code == TORCH.code and one.edits and is_script and _pins_another(command, data, file):
                one = structs.replace(one, safety=Safety.REVIEW)
            placed.append(one)
    placed = leaving_something(placed, command)
    # A build for CUDA that stays is not to be had from another index.
    stays = any(one.code in (TORCH.code, COMPANION.code) and not one.edits for one in placed)
    # What belongs to torch moves together with it, or not at all.
    waits = any(one.code == TORCH.code and one.edits and one.safety is Safety.REVIEW for one in placed)
    left = any(one.code == TORCH.code and not one.edits for one in placed)
    for one in placed:
        if left and one.code == COMPANION.code and one.edits:
            one = structs.replace(one, edits=(), safety=Safety.MANUAL, advice=phrase(_BY_HAND))
        if waits and one.code in (COMPANION.code, INDEX.code) and one.edits:
            one = structs.replace(one, safety=Safety.REVIEW)
        if stays and one.code == INDEX.code and _CUDA_BUILD.search(command.text):
            one = structs.replace(one, edits=(), safety=Safety.MANUAL, advice=phrase(_BY_HAND))
        file.add(one)


def leaving_something(findings: list[Finding], command: PipCommand) -> list[Finding]:
    """``findings`` without edits that together would leave ``pip install`` nothing to install, which is an error."""
    gone = [{span for span in command.arguments for edit in one.edits if _takes_out(edit, span)} for one in findings]
    if _FROM_FILE.search(command.text) or len(set().union(*gone)) < len(command.arguments):
        return findings
    return [
        structs.replace(
            one,
            edits=(),
            safety=Safety.MANUAL,
            advice=f"{one.advice}; {_NOTHING_ELSE}" if one.advice else _NOTHING_ELSE,
        )
        if spans
        else one
        for one, spans in zip(findings, gone, strict=True)
    ]


def _takes_out(edit: Edit, argument: tuple[int, int]) -> bool:
    return not edit.after and edit.start <= argument[0] and argument[1] <= edit.end


def _pins_another(command: PipCommand, data: bytes, file: TextFile) -> bool:
    """Whether a command pins another torch than that of the release aimed at, or leaves its version to a variable."""
    pinned = [data[slice(*span)].strip(b"'\"") for span in command.arguments]
    pinned = [one for one in pinned if one.startswith(b"torch==")]
    return any(one != b"torch==" + file.release.torch.encode() for one in pinned)


def for_workflow(finding: Finding, file: TextFile) -> Finding:
    """A workflow's jobs run on machines of many kinds, for some of which torch-npu has no package."""
    if ".github/" not in file.relative or not finding.edits:
        return finding
    if finding.code not in (TORCH.code, COMPANION.code):
        return structs.replace(finding, safety=Safety.REVIEW)
    return structs.replace(
        finding,
        edits=(),
        safety=Safety.MANUAL,
        severity=Severity.WARNING,
        advice="change it if the job is to run on NPUs; torch-npu has packages for Linux only",
    )


def _judged(command: PipCommand, file: TextFile) -> Iterator[Finding]:
    # A version that a shell fills in is none that can be read; the package can.
    text = _VERSION_EXPANDED.sub(lambda match: b" " * len(match.group()), command.text)
    try:
        listed = Text(text)
    except UnreadableText:
        return
    document = pip.read(text.decode("latin-1"))
    requirements = DependencyFile(
        file.relative,
        listed,
        document,
        file.release,
        file.run.vllm,
        bool(file.run.project.on_tensorflow),
        partial(safety_of_leaving, run=file.run),
        b"torch" in listed.data and lies_with_paddle(file.relative, file.run.project),
        b"python" in listed.data and stands_without_torch(file.relative, file.run.project),
    )
    if not requirements.is_for_prose:
        yield from judge(requirements, file.run.tensorflow_around(file.relative))


def place_in_line(finding: Finding, command: PipCommand, data: bytes, file: TextFile) -> Finding:
    """A finding about the requirements of a command, where they stand in the file."""
    first = command.start + _offset(command.text, finding.start)
    last = max(first, command.start + _offset(command.text, finding.end))
    wanted = _argument_edits(finding, command, data, file)
    # What is as it should be in conda's own spelling changes nothing.
    edits = [edit for edit in wanted if edit is not None]
    if edits and all(file.source(at, end) == after for at, end, after in edits):
        wanted, edits = [], []
    # Where the copy differs from the file, the change would take a comment with it.
    is_whole = len(edits) == len(wanted) and all(file.data[at:end] == data[at:end] for at, end, _ in edits)
    advice = finding.advice
    if not is_whole:
        edits, advice = [], semicolons(phrase(part) for part in (advice, _BY_HAND) if part)
    return structs.replace(
        finding,
        start=Position(*file.text.position(first)),
        end=Position(*file.text.position(last)),
        edits=tuple(Edit(at, end, file.source(at, end), after) for at, end, after in sorted(edits)),
        safety=finding.safety if edits else Safety.MANUAL,
        advice=advice,
    )


def _offset(text: bytes, place: Position) -> int:
    lines = text.split(b"\n")
    before = sum(len(line) + 1 for line in lines[: place.line - 1])
    return before + len(lines[place.line - 1].decode()[: place.column - 1].encode())


def _argument_edits(finding: Finding, command: PipCommand, data: bytes, file: TextFile) -> list[Replacement | None]:
    """Edits of requirements as edits of a command's arguments: in one line, in quotes where a shell asks for them."""
    shift = command.start
    edits: list[Replacement | None] = []
    inside: dict[tuple[int, int], list[Replacement]] = {}
    for edit in finding.edits:
        start, end = edit.start + shift, edit.end + shift
        if not edit.after:
            gone = [span for span in command.arguments if start <= span[0] and span[1] <= end + 1]
            if gone:
                without = _word_out if command.is_words else _without
                edits += [without(data, span) for span in gone]
                continue
        if start == end:
            # What is added comes after the argument before it, not after the blanks that follow.
            between = b' \t\r\n",]' if command.is_words else None
            start = end = max(
                (last for _, last in command.arguments if last <= start and not data[last:start].strip(between)),
                default=start,
            )
        holder = next((span for span in command.arguments if span[0] <= start and end <= span[1]), None)
        if holder is not None:
            inside.setdefault(holder, []).append((start, end, edit.after))
        else:
            # Part of an option, such as the address of an index.
            edits.append((start, end, edit.after) if "\n" not in edit.after else None)
    for (first, last), changes in inside.items():
        new, more, at = "", [], first
        for start, end, after in changes:
            here, *others = after.split("\n")
            new += _seen(command, data, at, start) + here
            more += [item.strip() for item in others if item.strip()]
            at = end
        rest = _seen(command, data, at, last)
        is_quoted = data[first : first + 1] in (b"'", b'"')
        if command.is_words:
            edits.append(
                (first, last, '", "'.join([new + rest, *more])) if not _EXPANDED.search(data, first, last) else None
            )
            continue
        added = "".join(f" {as_argument(item)}" for item in more)
        if _EXPANDED.search(data, first, last):
            edits += _by_variable(data[first:last].decode("utf-8", "replace"), new, first, added, file)
            continue
        edits.append((first, last, (new + rest if is_quoted else as_argument(new + rest)) + added))
    return edits


def _seen(command: PipCommand, data: bytes, start: int, end: int) -> str:
    """A part of an argument that is changed; what was blanked, such as a version as Poetry writes it, goes with it."""
    shown = command.text[start - command.start : end - command.start]
    kept = bytes(byte for byte, seen in zip(data[start:end], shown, strict=True) if seen not in b" " or byte in b"\"' ")
    return kept.decode("utf-8", "replace")


def _by_variable(written: str, new: str, start: int, added: str, file: TextFile) -> list[Replacement | None]:
    """The edits for ``torch==${VERSION}``: the variable's value, where the file gives it one, and what is added."""
    bare = written.strip("\"'")
    match = _BY_VARIABLE.fullmatch(bare)
    version = _NEW_VERSION.match(new.lstrip("\"'"))
    given = file.given.get(match.group("braced") or match.group("plain")) if match is not None else None
    if match is None or given is None or version is None:
        return [None]
    edits: list[Replacement | None] = []
    if given.value != version.group("version") and given not in file.settled:
        # One finding changes the variable; the others, which are as safe, need that no more.
        file.settled.append(given)
        edits += [(*place, version.group("version")) for place in given.places]
    quote = written[0] if written[0] in "\"'" else ""
    kept = re.sub(r"\+cu\d+$", "", bare)
    if kept != bare or added:
        edits.append((start, start + len(written.encode()), f"{quote}{kept}{quote}{added}"))
    return edits


def _word_out(data: bytes, argument: tuple[int, int]) -> Replacement | None:
    """Takes a word out of a list in quotes, with the comma before it."""
    gap = re.search(rb",\s*\"\Z", data[: argument[0]])
    return (
        (gap.start(), argument[1] + 1, "") if gap is not None and data[argument[1] : argument[1] + 1] == b'"' else None
    )


def _without(data: bytes, argument: tuple[int, int]) -> Replacement | None:
    """Takes an argument out, with the blanks and the continued line ends before it.

    A backslash that stays before an empty line would join the next instruction of a Dockerfile to this one.
    """
    gap = _GAP.search(data[: argument[0]])
    return (gap.start(), argument[1], "") if gap is not None else None
