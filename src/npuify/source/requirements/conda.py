"""environment.yml of conda: its own packages, and those that it leaves to pip."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.source.requirements.entry import (
    LINE_END,
    Document,
    Entry,
    Spot,
    UnreadableRequirements,
    checked,
    newline,
    normal,
    parse,
    without_line,
)
from npuify.source.settings import UnreadableSettings, yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_ITEM = re.compile(r"(?P<indent>[ \t]*)-(?P<gap>[ \t]+)(?P<quote>[\"']?)(?P<value>[^#\"']*?)[\"']?[ \t]*(?:\s#.*)?$")
_PIP = re.compile(r"[ \t]*-[ \t]+pip:[ \t]*(?:#.*)?$")
_CONDA = re.compile(r"(?:[\w./-]+::)?(?P<name>[\w.-]+)(?P<rest>.*)$")


def read(text: str) -> Document:
    """The requirements of an environment file; none where the file is another sort of YAML.

    Raises:
        UnreadableRequirements: it is not YAML at all.
    """
    if not re.search(r"^dependencies[ \t]*:", text, re.MULTILINE):
        return Document(text, [])
    try:
        yaml.read(text.encode("latin-1"))
    except UnreadableSettings as error:
        raise UnreadableRequirements(f"is {error.message}", error.line) from None
    entries: list[Entry] = []
    last_end, indent, gap = -1, "  ", " "
    pip_at: int | None = None
    pip_indent = ""
    siblings: dict[str, int] = {}
    for line, in_pip in _items(text):
        match = _ITEM.match(line.group().rstrip("\r\n"))
        if match is None:
            continue
        start = line.start() + match.start("value")
        end = line.start() + match.end("value")
        if in_pip:
            if pip_at is None:
                pip_at, pip_indent = line.start(), match["indent"]
            editable = re.match(r"(?:-e|--editable)\s+", match["value"])
            entry = parse(text, start + (editable.end() if editable else 0), end)
        else:
            indent, gap = match["indent"], match["gap"]
            entry = conda_entry(text, start, end)
        last_end = line.end()
        group = "pip" if in_pip else "conda"
        siblings[group] = siblings.get(group, 0) + 1
        if entry is None:
            continue
        stop = line.start() + len(line.group().rstrip("\r\n"))
        item = "{}" if not match["quote"] else f"{match['quote']}{{}}{match['quote']}"
        entries.append(
            entry._replace(
                group=group,
                removal=without_line(text, start, end),
                following=(Spot(stop, stop, f"{newline(text)}{match['indent']}-{match['gap']}{item}"),),
            )
        )
    # A list without items would be no list any more.
    entries = [entry._replace(removal=None) if siblings[entry.group] == 1 else entry for entry in entries]
    return Document(text, entries, _pip_list(text, pip_at, pip_indent, last_end, indent, gap))


def _pip_list(text: str, pip_at: int | None, pip_indent: str, last_end: int, indent: str, gap: str) -> Spot | None:
    end = newline(text)
    if pip_at is not None:
        return Spot(pip_at, pip_at, f"{pip_indent}-{gap}{{}}{end}")
    if last_end < 0:
        return None
    lead = "" if LINE_END.search(text[last_end - 1 : last_end]) else end
    return Spot(last_end, last_end, f"{lead}{indent}-{gap}pip:{end}\0{indent}    -{gap}{{}}{end}")


def _items(text: str) -> Iterator[tuple[re.Match[str], bool]]:
    """The lines below ``dependencies:``, each with whether it belongs to the list for pip."""
    inside, pip_depth = False, -1
    for line in _LINE.finditer(text):
        content = line.group().rstrip("\r\n")
        bare = content.strip()
        if not bare or bare.startswith("#"):
            continue
        depth = len(content) - len(content.lstrip())
        if depth == 0 and not bare.startswith("- "):
            inside, pip_depth = bare.startswith("dependencies"), -1
            continue
        if not inside:
            continue
        if pip_depth >= 0 and depth <= pip_depth:
            pip_depth = -1
        if _PIP.match(content):
            pip_depth = depth
            continue
        yield line, pip_depth >= 0


def conda_entry(text: str, start: int, end: int) -> Entry | None:
    """The package that ``text[start:end]`` asks conda for; None where that is none.

    The entry knows nothing of its surroundings yet.
    """
    match = _CONDA.match(text[start:end])
    if match is None:
        return None
    rest = match["rest"]
    lead = len(rest) - len(rest.lstrip())
    at = start + match.start("rest") + (lead if rest.strip() else 0)
    span = (at, start + len(text[start:end].rstrip()))
    name_span = (start + match.start("name"), start + match.end("name"))
    return Entry(normal(match["name"]), _version(rest), start, end, name_span, (span[0], max(span)), dialect="conda")


def _version(rest: str) -> str | None:
    """``=2.1`` (which means 2.1.*), ``==2.1.0``, ``2.1.*``, ``=2.1.0=py3.10_cuda11.8_0``, ``>=2.1,<2.3``."""
    rest = rest.strip()
    if not rest or rest == "*":
        return ""
    exact = re.fullmatch(r"(={0,2})\s*(\d[\w.]*?)(\.?\*)?(?:[=\s]\s*\S+)?", rest)
    if exact is None:
        return checked(rest)
    operator, version, star = exact.groups()
    return checked(f"=={version}.*" if star or operator == "=" else f"=={version}")
