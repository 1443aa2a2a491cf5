"""Whether a skill is laid out as agents expect it, by the public specification of Agent Skills.

The rules on name, description, compatibility, metadata, allowed fields and the folder's name are the specification's
(agentskills.io/specification); limits on length are its recommendations, and are warnings. Links, scripts and blocks of
bash are checked besides, because a guide that cannot be followed is none.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
import yaml

from npuify.handover.skill.blocks import Block, blocks
from npuify.language import commas, phrase
from npuify.model import NpuifyError

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_NAME: Final = 64
LONGEST_DESCRIPTION: Final = 1024
LONGEST_COMPATIBILITY: Final = 500
MOST_LINES: Final = 500
MOST_TOKENS: Final = 5000
"""Of the body. Estimated: four characters of Latin script to a token, one of Chinese."""

_FIELDS: Final = {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LINK: Final = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
_OWN_MACHINE: Final = re.compile(r"(?<![\w$/}])/(?:home|Users)/[\w.-]+/")


class Fault(msgspec.Struct, frozen=True):
    """One thing that is wrong. ``warning``: allowed, and yet against a recommendation."""

    severity: Literal["error", "warning"]
    file: str
    line: int
    """0 where no line can be named."""
    message: str


def validate(path: Path) -> tuple[Fault, ...]:
    """What is wrong with the skill at ``path``, its folder or its SKILL.md; errors first.

    Raises:
        NpuifyError: there is no SKILL.md.
    """
    folder = path if path.is_dir() else path.parent
    main = folder / "SKILL.md" if path.is_dir() else path
    if not main.is_file():
        near = [one.name for one in folder.glob("*") if one.name.lower() == "skill.md"] if folder.is_dir() else []
        hint = phrase("it is called {near} there", near=near[0]) if near else "a skill is a folder with a SKILL.md"
        raise NpuifyError("there is no SKILL.md", advice=hint, file=str(path))
    try:
        text = main.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return (Fault("error", main.name, 0, "is not UTF-8"),)
    found = sorted(_faults(text, main, folder), key=lambda fault: (fault.severity, fault.file, fault.line))
    return tuple(found)


def _faults(text: str, main: Path, folder: Path) -> Iterator[Fault]:
    if main.name != "SKILL.md":
        yield Fault("error", main.name, 0, "the file must be called SKILL.md")
    matter, body, first_line = _split(text)
    if matter is None:
        yield Fault("error", main.name, 1, "does not begin with front matter between two lines of ---")
        return
    yield from _front_matter(matter, main.name, folder.absolute().name)
    yield from _body(body, main.name, first_line)
    yield from _links(body, main.name, first_line, folder)
    yield from _steps(blocks(text), main.name)


def _split(text: str) -> tuple[str | None, str, int]:
    """Front matter, body, and the line on which the body begins."""
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return None, text, 1
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() == "---":
            return "\n".join(lines[1:number]), "\n".join(lines[number + 1 :]), number + 2
    return None, text, 1


def _front_matter(matter: str, file: str, folder: str) -> Iterator[Fault]:
    try:
        values = yaml.safe_load(matter)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        yield Fault(
            "error",
            file,
            mark.line + 2 if mark else 2,
            phrase("the front matter is not YAML: {error}", error=error).split("\n")[0],
        )
        return
    if not isinstance(values, dict):
        yield Fault("error", file, 2, "the front matter is not a mapping")
        return
    for key in values:
        if key not in _FIELDS:
            yield Fault(
                "error",
                file,
                2,
                phrase("{key!r} is not a field of a skill; fields: {FIELDS}", key=key, FIELDS=commas(sorted(_FIELDS))),
            )
    yield from (Fault("error", file, 2, message) for message in _name(values.get("name"), folder))
    yield from _length(values, "description", LONGEST_DESCRIPTION, file, required=True)
    if isinstance(values.get("description"), str) and re.search(r"<[^>]*>", values["description"]):
        yield Fault("warning", file, 2, "description contains <…>, which some agents interpret as markup")
    yield from _length(values, "compatibility", LONGEST_COMPATIBILITY, file, required=False)
    for key in ("license", "allowed-tools"):
        if key in values and not isinstance(values[key], str):
            yield Fault("error", file, 2, phrase("{key} is not a string", key=key))
    metadata = values.get("metadata", {})
    if not isinstance(metadata, dict) or not all(isinstance(one, str) for pair in metadata.items() for one in pair):
        yield Fault("error", file, 2, "metadata is not a mapping of names to strings; quote numbers")


def _name(name: Any, folder: str) -> Iterator[str]:
    if not isinstance(name, str) or not name:
        yield "name is missing, or not a string"
        return
    if len(name) > LONGEST_NAME:
        yield phrase(
            "name has {number} characters, more than {LONGEST_NAME}", number=len(name), LONGEST_NAME=LONGEST_NAME
        )
    if not _NAME.fullmatch(name):
        yield phrase(
            "name {name!r} may only contain lowercase letters, digits and single hyphens between them", name=name
        )
    if name != folder:
        yield phrase("name {name!r} is not that of its folder, {folder!r}", name=name, folder=folder)


def _length(values: dict[str, Any], key: str, longest: int, file: str, *, required: bool) -> Iterator[Fault]:
    if key not in values:
        if required:
            yield Fault("error", file, 2, phrase("{key} is missing", key=key))
        return
    value = values[key]
    if not isinstance(value, str) or not value.strip():
        yield Fault("error", file, 2, phrase("{key} is empty, or not a string", key=key))
    elif len(value) > longest:
        yield Fault(
            "error",
            file,
            2,
            phrase("{key} has {number} characters, more than {longest}", key=key, number=len(value), longest=longest),
        )


def _body(body: str, file: str, first_line: int) -> Iterator[Fault]:
    if not body.strip():
        yield Fault("error", file, first_line, "there are no instructions after the front matter")
    lines = body.count("\n") + 1
    if lines > MOST_LINES:
        yield Fault(
            "warning",
            file,
            first_line,
            phrase(
                "{lines} lines, more than {MOST_LINES}: move parts to references/", lines=lines, MOST_LINES=MOST_LINES
            ),
        )
    wide = sum(character >= "\u2e80" for character in body)
    tokens = wide + (len(body) - wide) // 4
    if tokens > MOST_TOKENS:
        yield Fault(
            "warning",
            file,
            first_line,
            phrase(
                "about {tokens} tokens, more than {MOST_TOKENS}: move parts to references/",
                tokens=tokens,
                MOST_TOKENS=MOST_TOKENS,
            ),
        )
    for number, line in enumerate(body.split("\n"), start=first_line):
        if _OWN_MACHINE.search(line):
            yield Fault("warning", file, number, "refers to a folder on a particular machine")


def _links(body: str, file: str, first_line: int, folder: Path) -> Iterator[Fault]:
    inside = False
    for number, line in enumerate(body.split("\n"), start=first_line):
        if line.lstrip().startswith("```"):
            inside = not inside
        if inside:
            continue
        for target in _LINK.findall(line):
            address = target.partition("#")[0]
            if not address or re.match(r"[a-z][a-z0-9+.-]*:", address):
                continue
            if address.startswith("/") or ".." in address.split("/"):
                yield Fault("error", file, number, phrase("{address} leaves the skill's folder", address=address))
            elif not (folder / address).exists():
                yield Fault("error", file, number, phrase("{address} does not exist", address=address))
            elif address.count("/") > 1:
                yield Fault(
                    "warning", file, number, phrase("{address} is nested deeper than one folder", address=address)
                )


def _steps(found: list[Block], file: str) -> Iterator[Fault]:
    for block in found:
        if not block.closed:
            yield Fault("error", file, block.line, "a code block is not closed")
        if block.language in ("bash", "sh"):
            yield from (Fault("error", file, line, "bash cannot parse this") for line in _unreadable(block))


def _unreadable(block: Block) -> Iterator[int]:
    import tree_sitter
    import tree_sitter_bash

    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
    root = parser.parse(block.text.encode("utf-8")).root_node
    if root.has_error:
        worst = next((node for node in root.children if node.has_error or node.is_error), root)
        yield block.line + 1 + worst.start_point[0]
