"""The site of the documentation: it builds without a warning, and its pages say what commands print."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tools.site.build import build_language
from tools.site.languages import CHINESE, LANGUAGES, SiteLanguage
from tools.site.sessions import DOCS, differences, pages_with_commands, steps
from tools.site.tree import english_pages

from npuify import api
from npuify.report.addresses import rule_page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from _pytest.mark.structures import ParameterSet

_NEEDS_TORCH = re.compile(r"^\$ .*npuify (simulate|verify|port)\b", re.MULTILINE)


@pytest.mark.parametrize("language", LANGUAGES, ids=[one.name for one in LANGUAGES])
def test_the_site_builds_without_a_warning_and_has_a_place_for_each_rule(
    language: SiteLanguage, tmp_path: Path
) -> None:
    pytest.importorskip("mkdocs")
    build_language(language, tmp_path / "sources", tmp_path / "site")
    pages: dict[str, str] = {}
    for rule in api.rules():
        page, _, place = rule_page(rule.code).partition("#")
        if page not in pages:
            pages[page] = (tmp_path / "site" / page).read_text(encoding="utf-8")
        assert f'id="{place}"' in pages[page]
    start = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert f'lang="{language.theme}"' in start
    for address in re.findall(r'(?:src|href)="([^"#]+)"', start):
        assert not address.startswith(("http:", "https:", "//")), "the site fetches nothing from elsewhere"
    index = (tmp_path / "site" / "search" / "search_index.js").read_text(encoding="utf-8")
    assert "NPU301" in index, "the search works without a server"


def _each_page() -> Iterator[ParameterSet]:
    """The pages; those in Chinese, whose commands are those of the English ones, for ``./check all``."""
    for page in pages_with_commands():
        marks = [pytest.mark.thorough] if page.name.endswith(f"{CHINESE.suffix}.md") else []
        yield pytest.param(page, marks=marks, id=str(page.relative_to(DOCS)))


@pytest.mark.parametrize("page", list(_each_page()))
def test_a_page_says_what_its_commands_print(page: Path) -> None:
    if _NEEDS_TORCH.search(page.read_text(encoding="utf-8")):
        pytest.importorskip("torch")
    found = differences(page)
    told = "\n\n".join(f"$ {one.command}\n{one.diff}" for one in found)
    assert not found, f"python -m tools.site outputs {page}\n{told}"


def test_translated_pages_have_the_commands_of_the_english_ones() -> None:
    for page in english_pages():
        translated = page.with_suffix(f"{CHINESE.suffix}.md")
        if translated.exists():
            both = [
                [(step.file, [command for command, _ in step.commands]) for step in steps(one.read_text("utf-8"))]
                for one in (page, translated)
            ]
            assert both[0] == both[1], translated
