"""The pages as they are read in a clone: links lead to something that is there, in the reader's language, and a translation
has what the English page has."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tools.site.languages import CHINESE, LANGUAGES
from tools.site.tree import DOCS, ROOT, english_pages, write_tree

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tools.site.languages import SiteLanguage

PAGES = [*sorted(DOCS.rglob("*.md")), *sorted(ROOT.glob("*.md"))]
_FENCED = re.compile(r"^(`{3,})[^\n]*\n.*?^\1$", re.MULTILINE | re.DOTALL)
_TABLE = re.compile(r"^<!-- table: [^\n]*-->\n[^\n]*$", re.MULTILINE)
"""What a tool writes stands in the English page alone."""
_SWITCH = re.compile(r"^\[(?:English|中文)\]\([^)]*\)$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def _prose(page: Path) -> str:
    return re.sub(r"`[^`\n]*`", "", _FENCED.sub("", page.read_text(encoding="utf-8")))


def _links(text: str) -> Iterator[tuple[str, str]]:
    for link in _LINK.findall(text):
        if "://" not in link and not link.startswith("mailto:"):
            path, _, place = link.partition("#")
            yield path, place


def _places(page: Path) -> set[str]:
    """What a link into ``page`` may name: places of its own, and headings as code hosts name them."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    found = set(re.findall(r'<a id="([^"]+)"></a>', text))
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        found.add(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-"))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_in_a_clone_lead_somewhere(page: Path) -> None:
    for path, place in _links(_prose(page)):
        target = page.parent / path if path else page
        assert target.exists(), f"{path} is not in the repository"
        if place and target.suffix == ".md":
            assert place in _places(target), f"{path or page.name} has no place {place}"


@pytest.mark.parametrize(
    "page", [one for one in PAGES if one.name.endswith(f"{CHINESE.suffix}.md")], ids=lambda page: page.name
)
def test_a_chinese_page_leads_to_chinese_pages(page: Path) -> None:
    for path, _ in _links(_SWITCH.sub("", _TABLE.sub("", _prose(page)))):
        if path.endswith(".md") and not path.endswith(f"{CHINESE.suffix}.md"):
            twin = (page.parent / path).with_suffix(f"{CHINESE.suffix}.md")
            assert not twin.exists(), f"{path} is there in Chinese"


@pytest.mark.parametrize("language", LANGUAGES, ids=[one.name for one in LANGUAGES])
def test_links_in_the_tree_of_one_language_stay_in_it(language: SiteLanguage, tmp_path: Path) -> None:
    write_tree(tmp_path / "docs", language)
    for english in english_pages():
        written = tmp_path / "docs" / english.relative_to(DOCS)
        for path, _ in _links(_prose(written)):
            assert not path or (written.parent / path).exists(), f"{written}: {path}"


def test_each_page_is_linked_from_another() -> None:
    """A page that only a menu names is not found in a clone."""
    for suffix in ("", CHINESE.suffix):
        linked = {
            (page.parent / path).resolve()
            for page in PAGES
            if page.name.endswith(f"{CHINESE.suffix}.md") == bool(suffix)
            for path, _ in _links(_SWITCH.sub("", _prose(page)))
            if path
        }
        for english in english_pages():
            page = english.with_suffix(f"{suffix}.md")
            if page.exists():
                assert page.resolve() in linked, page.relative_to(ROOT)


_WRITTEN = re.compile(r"<!-- (\w+): begin[^\n]*-->.*?<!-- \1: end -->", re.DOTALL)


@pytest.mark.parametrize("english", english_pages(), ids=lambda page: page.name)
def test_a_translation_keeps_up_with_the_english_page(english: Path) -> None:
    """Its parts and the options that it names: what a page that was left behind lacks first."""
    translated = english.with_suffix(f"{CHINESE.suffix}.md")
    if not translated.exists():
        pytest.skip("it is written in both languages at once")
    texts = [_WRITTEN.sub("", page.read_text(encoding="utf-8")) for page in (english, translated)]
    parts = [[len(level) for level in re.findall(r"^(#+) ", _FENCED.sub("", text), re.MULTILINE)] for text in texts]
    assert parts[0] == parts[1]
    options = [set(re.findall(r"(?<![\w-])--[a-z][\w-]+", text)) for text in texts]
    assert options[0] <= options[1], options[0] - options[1]
