"""Dockerfiles that stand on vLLM's own image, whose entry point starts the server; that for NPUs starts a shell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.rules.environment.serving_commands import entry_point, in_front_of_words
from npuify.rules.environment.serving_images import npu_image, report_image
from npuify.source.docker import as_shell
from npuify.source.shell import read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.knowledge.frameworks.vllm import VllmSet
    from npuify.rules.text_file import Replacement, TextFile
    from npuify.source.docker import Instruction

_VARIABLE = re.compile(r"\$(?:\{(?P<braced>\w+)(?::?-[^{}]*)?\}|(?P<plain>\w+))")
_PLACE = re.compile(r"(?P<image>.*?):(?P<mark>v?)(?P<tag>\$\S+)")


def judge_vllm_base(
    image: str, place: tuple[int, int], instructions: Sequence[Instruction], shell: bytes, file: TextFile
) -> None:
    """Report vLLM's image as the base of another.

    Args:
        image: the base, with the variables filled in that the file gives one value.
        place: where it stands.
        instructions: all of the file.
        shell: the file's text without comments.
        file: gets the finding.
    """
    choice, new = npu_image(image, file)
    edits: list[Replacement | None] = [None]
    if new:
        named = _named(image, place, new, file)
        edits = [*named, *_started(place[0], instructions, shell, choice.row, file)]
    report_image(image, place, choice, edits, file)


def _named(image: str, place: tuple[int, int], new: str, file: TextFile) -> list[Replacement | None]:
    """The edits that name the image for NPUs: in place, or by the variable that holds its version."""
    written = file.source(*place)
    if written == image:
        return [(*place, new)]
    whole = _VARIABLE.fullmatch(written)
    known = file.given.get(whole["braced"] or whole["plain"]) if whole is not None else None
    if whole is not None and known is not None and known.value == image:
        name = whole["braced"] or whole["plain"]
        if len(re.findall(rb"\$\{?" + re.escape(name.encode()) + rb"\b", file.data)) > 1 or known in file.settled:
            return [None]
        file.settled.append(known)
        return [(*one, new) for one in known.places]
    match = _PLACE.fullmatch(written)
    variable = _VARIABLE.fullmatch(match["tag"]) if match is not None else None
    if match is None or variable is None:
        return [None]
    name = variable["braced"] or variable["plain"]
    given = file.given.get(name)
    repository, _, tag = new.rpartition(":")
    value = tag.removeprefix("v") if match["mark"] else tag
    if given is None:
        return [None]
    start = place[0]
    named: list[Replacement | None] = [(start, start + len(match["image"].encode()), repository)]
    if given.value == value:
        return named
    uses = len(re.findall(rb"\$\{?" + re.escape(name.encode()) + rb"\b", file.data))
    if uses > 1 or given in file.settled:
        return [None]
    file.settled.append(given)
    return [*named, *((*one, value) for one in given.places)]


def _started(
    at: int, instructions: Sequence[Instruction], shell: bytes, row: VllmSet, file: TextFile
) -> list[Replacement | None]:
    """The edits that start the server, where the image itself is what is run."""
    behind = [one for one in instructions if one.start > at]
    if any(one.name in ("FROM", "ENTRYPOINT") for one in behind):
        return []
    command = next((one for one in reversed(behind) if one.name == "CMD"), None)
    if command is not None:
        if file.data[command.body : command.body + 1] != b"[":
            return [None]
        script = read(as_shell(shell, command.body, command.end), command.body, command.end)
        return in_front_of_words(script.commands[0].words, file.data) if len(script.commands) == 1 else [None]
    end = len(file.data)
    before = "" if file.data[end - 1 : end] == b"\n" else file.text.newline
    return [(end, end, f"{before}{entry_point(row)}{file.text.newline}")]
