"""The commands on pages, and what they print: run again by the tests, and written anew by ``tools.site outputs``.

A page has them in fences of the kind ``console``: a line that starts with ``$`` is a command, the lines below are what
it prints. All of a page run one after the other in a folder of their own, in which ``examples`` is. A fence with a
``title`` is a file that is written there before the next command. A comment before a fence says which part of the
output the page shows:

    <!-- output: from="Found" to="Verdict" -->      from a line that starts so, up to another one
    <!-- output: head=3 tail=4 -->                  the first and the last lines
    <!-- output: keep="^npuify|epoch" -->           the lines in which the pattern is found
"""

from __future__ import annotations

import difflib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tools.site.languages import CHINESE, ENGLISH
from tools.site.tree import DOCS, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LEFT_OUT = "…"
"""The line that stands for lines that a page does not show."""
_FENCE = re.compile(
    r"(?:<!-- output: (?P<shown>[^\n]*?) -->\n\n?)?"
    r'^``` ?(?P<kind>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<body>.*?)^```$',
    re.MULTILINE | re.DOTALL,
)
_CHANGING = (
    (re.compile(r"\b\d+(?:\.\d+)? (s|ms|秒)\b"), r"0.0 \1"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?\S*"), "2026-01-01 00:00"),
    (re.compile(r"\bon torch \S+?(?=\. |$)"), "on torch"),
    (re.compile(r"\b(loss|accuracy) \d+\.\d+"), r"\1 0.0"),
)
"""What differs from run to run, and what stands for it."""


class Step(NamedTuple):
    """A file that a page has written, or a command that it has run."""

    span: tuple[int, int]
    """Of the body of the fence, in the page."""
    file: str
    commands: tuple[tuple[str, str], ...]
    """Each command, and what the page says that it prints."""
    body: str
    shown: dict[str, str]


class Difference(NamedTuple):
    """What a command prints, where the page says something else."""

    command: str
    diff: str


def steps(page: str) -> Iterator[Step]:
    """What is written and run for a page, in order."""
    for fence in _FENCE.finditer(page):
        shown = dict(part.split("=", 1) for part in shlex.split(fence["shown"] or ""))
        if fence["title"]:
            yield Step(fence.span("body"), fence["title"], (), fence["body"], shown)
        elif fence["kind"] == "console":
            yield Step(fence.span("body"), "", tuple(_commands(fence["body"])), fence["body"], shown)


def pages_with_commands() -> list[Path]:
    """The pages of the documentation, in all languages, that have commands with their output."""
    return [page for page in sorted(DOCS.rglob("*.md")) if re.search("^``` ?console$", page.read_text("utf-8"), re.M)]


def differences(page: Path) -> list[Difference]:
    """Run the commands of a page, and compare what they print with what it says."""
    found = []
    for step, printed in _run(page):
        for (command, said), now in zip(step.commands, printed, strict=True):
            if _comparable(said) != _comparable(now):
                lines = difflib.unified_diff(said.splitlines(), now.splitlines(), "page", "printed", lineterm="")
                found.append(Difference(command, "\n".join(lines)))
    return found


def renew(pages: Sequence[Path]) -> None:
    """Run the commands of pages (of all, where none is given), and write there what they print now."""
    for page in pages or pages_with_commands():
        text = page.read_text(encoding="utf-8")
        for step, printed in reversed(list(_run(page))):
            new = "".join(
                f"$ {command}\n{said if _comparable(said) == _comparable(now) else now}"
                for (command, said), now in zip(step.commands, printed, strict=True)
            )
            if step.commands:
                text = text[: step.span[0]] + new + text[step.span[1] :]
        page.write_text(text, encoding="utf-8")
        print(page)


def _run(page: Path) -> Iterator[tuple[Step, list[str]]]:
    language = CHINESE if page.name.endswith(f"{CHINESE.suffix}.md") else ENGLISH
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch).resolve()
        shutil.copytree(ROOT / "examples", folder / "examples")
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
            "NPUIFY_LANGUAGE": language.name,
            "COLUMNS": "100",
        }
        for step in steps(page.read_text(encoding="utf-8")):
            if step.file:
                (folder / step.file).parent.mkdir(parents=True, exist_ok=True)
                (folder / step.file).write_text(step.body, encoding="utf-8")
            printed = []
            for command, _ in step.commands:
                ended = subprocess.run(
                    command,
                    shell=True,
                    cwd=folder,
                    env=environment,
                    capture_output=True,
                    text=True,
                    stdin=subprocess.DEVNULL,
                    check=False,
                )
                output = (ended.stdout + ended.stderr).replace(str(folder), "…")
                printed.append(_part(output, step.shown))
            yield step, printed


def _commands(body: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, said = part.partition("\n")
        yield command, said


def _part(output: str, shown: dict[str, str]) -> str:
    """The part of an output that the page shows; ``…`` stands for the rest."""
    lines = output.rstrip("\n").split("\n") if output.strip() else []
    if "keep" in shown:
        lines = [line for line in lines if re.search(shown["keep"], line)]
    first, last = 0, len(lines)
    if "from" in shown:
        first = next((at for at, line in enumerate(lines) if line.startswith(shown["from"])), 0)
    if "to" in shown:
        last = next((at for at, line in enumerate(lines) if at >= first and line.startswith(shown["to"])), last)
    kept = lines[first:last]
    head, tail = int(shown.get("head", len(kept))), int(shown.get("tail", 0 if "head" in shown else len(kept)))
    if "tail" in shown and "head" not in shown:
        head = 0
    if head + tail < len(kept):
        kept = [*kept[:head], LEFT_OUT, *kept[len(kept) - tail :]]
    if first and kept[:1] != [LEFT_OUT]:
        kept = [LEFT_OUT, *kept]
    if last < len(lines) and kept[-1:] != [LEFT_OUT]:
        kept = [*kept, LEFT_OUT]
    return "".join(f"{line}\n" for line in kept)


def _comparable(text: str) -> str:
    for pattern, replacement in _CHANGING:
        text = pattern.sub(replacement, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
