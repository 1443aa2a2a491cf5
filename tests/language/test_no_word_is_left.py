"""Single English words in Chinese: what the other tests do not see, which look for three in a row.

What comes out of the catalogs is blanked of its Latin letters first. So the Latin words that remain came past the
catalogs: they are names, code, or what somebody forgot.
"""

from __future__ import annotations

import html
import io
import re
import tokenize
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

import pytest
from babel.messages.pofile import read_po
from tools.catalogs.domains import CATALOGS

import npuify
from npuify.language import catalog as of_language
from npuify.language import speak, speaking
from npuify.language.catalog import Catalog
from npuify.language.shell import refusals
from npuify.options import Options
from npuify.report import render_scan
from npuify.scripts.template import comments

from .test_all_in_chinese import _CODE, OTHER_KINDS, written_cases
from .test_commands_in_chinese import CODE, LOG, OUTPUTS, project, said

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["project"]
_PART = re.compile(r"(\{[^{}]*\})")
_WORD = re.compile(r"(?<![\w./=<>:\-])[A-Za-z][a-z]{2,}(?![\w./=<>\-]|\()")
_NAMES = frozenset(
    (
        *("live", "package", "documented", "reported", "assumed"),
        *(
            "import",
            "main",
            "none",
            "project",
            "new",
            "done",
            "scaling",
            "path",
            "comment",
            "docstring",
            "message",
            "text",
        ),
        *("collectives", "device", "backend", "fused", "ops", "twice", "guarded", "rows"),
    )
)
"""Words of the catalogs that are names where they stand alone: kinds of evidence and of places, stages, arguments, and
what the projects of the tests call things."""
_OF_OTHERS = re.compile("invalid syntax|fatal: |RuntimeError: ")
"""What Python, git and a program say."""

SOURCE = {line.strip() for line in (CODE + LOG).splitlines()}


def _blanked(text: str) -> str:
    return "".join(part if part.startswith("{") else re.sub("[A-Za-z]", "·", part) for part in _PART.split(text))


@pytest.fixture
def blanked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Texts of the catalogs have no Latin letters but those of their values."""
    known = Catalog.known

    def blank(self: Catalog, english: str) -> str:
        found = known(self, english)
        return found if found == english else _blanked(found)

    def blank_plural(self: Catalog, one: str, many: str, count: int, values: dict[str, object]) -> str:
        found = self._texts.ngettext(one, many, count)
        found = self.known(one) if found in (one, many) else _blanked(found)
        return of_language.filled_in(found, {"count": count, **self._translated(values)})

    monkeypatch.setattr(Catalog, "known", blank)
    monkeypatch.setattr(Catalog, "plural", blank_plural)
    yield
    speak("en")


@cache
def vocabulary() -> frozenset[str]:
    """Words of the English texts that translations do not keep: no names."""
    seen: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    for file in CATALOGS.glob("*.po"):
        for message in read_po(file.open("rb")):
            english, chinese = (
                " ".join([one] if isinstance(one, str) else one).lower() for one in (message.id, message.string)
            )
            words = set(_WORD.findall(english))
            seen.update(words)
            kept.update(words & set(re.findall("[a-z]+", chinese)))
    return frozenset(word for word in seen if kept[word] * 2 < seen[word]) - _NAMES


def words_left(text: str) -> list[str]:
    return [word for word in _WORD.findall(_CODE.sub(" ¦ ", text)) if word.lower() in vocabulary()]


def lines_left(text: str) -> Iterator[str]:
    if text.lstrip().startswith("<!DOCTYPE"):
        text = re.sub(r"(?s)<(script|style|pre|code)\b.*?</\1>", "", text)
        titles = re.findall(r"(?:title|alt|aria-label|placeholder)=[\"']([^\"'<>]*)", text)
        text = html.unescape("\n".join([*re.sub(r"<[^>]*>", "\n", text).splitlines(), *titles]))
    text = re.sub(r"(?s)```\w*\n.*?```", "", text)
    for line in text.splitlines():
        if line.strip() in SOURCE or _OF_OTHERS.search(line):
            continue
        left = words_left(line)
        if left:
            yield f"{left}: {line.strip()}"


@pytest.mark.parametrize("line", OUTPUTS, ids=[re.sub(r"/\S*/", "", one) for one in OUTPUTS])
def test_outputs(
    line: str, blanked: None, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, complaints = said(line, monkeypatch, capsys)
    if line.startswith("launch"):
        told = [one for one in comments(out) if not one.startswith("export ")]
        out = "\n".join([*told, *refusals(out)])
    if line.startswith("rules"):
        out = re.sub("(?m)^      .*", "", out)
    wrong = [*lines_left(out), *lines_left(complaints)]
    assert not wrong, "\n".join(wrong)


def _named(code: str) -> set[str]:
    """What a program calls things."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(code).readline))
    except (tokenize.TokenError, SyntaxError):
        return set()
    return {token.string.lower() for token in tokens if token.type == tokenize.NAME}


def _check(result: npuify.model.ScanResult, folder: Path) -> None:
    sources = [path.read_text("utf-8", "replace") for path in folder.rglob("*.*") if path.is_file()]
    known = {line.strip() for source in sources for line in source.splitlines()}
    named = set().union(*map(_named, sources))
    wrong = set()
    with speaking("zh"):
        for format in ("text", "markdown", "html"):
            for line in lines_left(render_scan(result, format)):
                words, _, text = line.partition(": ")
                if text not in known and set(re.findall("[a-z]+", words.lower())) - named:
                    wrong.add(line)
    assert not wrong, "\n".join(sorted(wrong))


def test_findings_of_all_cases(blanked: None, tmp_path: Path) -> None:
    written_cases(tmp_path)
    _check(npuify.scan([tmp_path], Options(cache=False, jobs=1, language="zh")), tmp_path)


def test_files_of_all_kinds(blanked: None, tmp_path: Path) -> None:
    for name, text in OTHER_KINDS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    _check(npuify.scan([tmp_path], Options(cache=False, jobs=1, language="zh")), tmp_path)
