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
from npuify.handover.skill.validate import validate

ROOT = Path(__file__).parents[2]
SKILL = ROOT / "skills" / "npuify" / "SKILL.md"
PAGES = [ROOT / "README.md", ROOT / "README.zh-CN.md", *sorted((ROOT / "docs").rglob("*.md")), SKILL]


def commands(page: Path) -> list[list[str]]:
    """The words of each command of ``page`` that starts npuify, in a fence of any kind or in an indented block; lines that
    name several commands at once are left out."""
    found, fenced, begun = [], False, ""
    for line in page.read_text(encoding="utf-8").splitlines():
        fenced ^= line.lstrip().startswith("```")
        text = begun + line.strip().removeprefix("$ ")
        begun = ""
        if not fenced and not line.startswith("    "):
            continue
        if text.endswith("\\"):
            begun = text[:-1]
            continue
        for part in re.split(r"\s&&\s|\s;\s|;\s", text):
            words = part.partition("  #")[0].partition(" #")[0].strip()
            if not fenced:
                words = words.partition("  ")[0]
            if words.startswith("npuify ") and "|" not in words and not re.search("[,、] ?npuify", words):
                split = shlex.split(re.sub(r"\s\d?>>?\s?\S+", "", words))[1:]
                found.append(split)
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


def refusal(words: list[str]) -> str:
    """What the command line says against ``words``, without anything being run: an option that is not there or lacks its
    value, a value that is none of the choices, an argument too many or too few. Empty where it takes them."""
    command = npuify()
    while hasattr(command, "commands"):
        if not words or words[0] not in command.commands:
            return "" if not words or words[0].startswith("-") else f"no command {words[0]}"
        command, words = command.commands[words[0]], words[1:]
    context = command.context_class(command, **command.context_settings)
    try:
        values, rest, _ = command.make_parser(context).parse_args(list(words))
    except Exception as refused:  # of the click that typer brings along, which has no name of its own to import
        return str(getattr(refused, "message", "") or refused)
    if rest and not context.allow_extra_args:
        return f"too many: {rest}"
    for one in command.params:
        given = values.get(one.name)
        if one.required and not given and "--help" not in words:
            return f"lacks {one.name}"
        choices = [getattr(choice, "value", choice) for choice in getattr(one.type, "choices", ())]
        if choices and isinstance(given, str) and given not in choices:
            return f"{given} is none of {choices}"
    return ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_of_the_documentation_have_their_options(page: Path) -> None:
    for words in commands(page):
        assert not unknown(words), words
        assert not refusal(words), (words, refusal(words))


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


def test_a_wrong_command_is_refused() -> None:
    assert "--run" in refusal(["verify", "steps", "src", "--run", "train.py"])
    assert "too many" in refusal(["verify", "steps", "src", "dest", "--entry", "train.py"])
    assert "lacks" in refusal(["diagnose"])
    assert "none of" in refusal(["scan", "src", "--format", "pdf"])
    assert not refusal(["verify", "steps", "src", "--migrated", "dest", "--entry", "train.py --steps 5"])
    assert not refusal(["simulate", "train.py", "--whatever", "1"])


def test_commands_are_found_in_each_kind_of_block(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "``` console\n$ cd out && npuify scan a > b.txt\n```\n\n``` sh\nnpuify doctor      # why\n"
        "npuify launch x \\\n  --cards 8\n```\n\n    npuify rules      all\n",
        encoding="utf-8",
    )
    assert commands(page) == [["scan", "a"], ["doctor"], ["launch", "x", "--cards", "8"], ["rules"]]
