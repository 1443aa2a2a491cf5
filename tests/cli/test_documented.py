"""The commands that the documentation shows have the options that they are shown with."""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from npuify.cli.app import app
from npuify.handover.validate import validate

ROOT = Path(__file__).parents[2]
SKILL = ROOT / "skills" / "npuify" / "SKILL.md"
PAGES = [ROOT / "README.md", ROOT / "README.zh-CN.md", *sorted((ROOT / "docs").glob("*.md")), SKILL]


def commands(page: Path) -> list[list[str]]:
    """The words of each line of ``page`` that starts npuify; lines that name several commands at once are left out."""
    found, fenced = [], False
    for line in page.read_text(encoding="utf-8").splitlines():
        fenced ^= line.lstrip().startswith("```")
        text = line.strip()
        if (
            (text if fenced else line).startswith("npuify " if fenced else "    npuify ")
            and "|" not in text
            and not re.search("[,、] ?npuify", text)
        ):
            found.append(shlex.split(text.partition("  ")[0].partition(" #")[0].rstrip("\\"))[1:])
    return found


@cache
def npuify() -> Any:
    """The command, made once: it has many."""
    return typer.main.get_command(app)


def unknown(words: list[str]) -> list[str]:
    """Options in ``words`` that their command does not have, up to the program that is given its own."""
    command = npuify()
    while hasattr(command, "commands"):
        name = words[0]
        assert name in command.commands, f"there is no command {name!r}"
        command, words = command.commands[name], words[1:]
    options = {name: one for one in command.params for name in (*one.opts, *one.secondary_opts)}
    wrong = []
    words = list(words)
    while words:
        word = words.pop(0)
        if word == "--" or (command.context_settings.get("ignore_unknown_options") and not word.startswith("-")):
            break
        if not word.startswith("-") or word == "-":
            continue
        name, _, value = word.partition("=")
        if name not in options:
            wrong.append(name)
        elif not value and not getattr(options[name], "is_flag", False):
            words = words[1:]
        if name == "-m":
            break  # a module, and its own arguments
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_of_the_documentation_have_their_options(page: Path) -> None:
    for words in commands(page):
        assert not unknown(words), words


def test_our_own_skill() -> None:
    assert validate(SKILL) == ()
    inline = [shlex.split(one)[1:] for one in re.findall(r"`(npuify [a-z][^`]*)`", SKILL.read_text(encoding="utf-8"))]
    assert len(inline) > 15
    for words in inline:
        assert not unknown(words), words


def test_a_wrong_option_is_seen() -> None:
    assert unknown(["trace", "--format", "html", "-o", "x.html", "train.py"]) == ["-o"]
    assert unknown(["trace", "train.py", "-o", "x"]) == []
    assert sum(len(commands(page)) for page in PAGES) > 80
