"""The sources of the site in one language: the pages of ``docs``, in English where they are not translated, and the
generated reference."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from tools.site import reference
from tools.site.languages import CHINESE, in_language

if TYPE_CHECKING:
    from tools.site.languages import SiteLanguage

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
_OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+([^)#]*)(?:#[^)]*)?\)")
"""A link to a file of the repository that is no page."""
_IN_BOTH = ("glossary.md",)
"""Pages that are written in both languages at once."""
_TABLE = re.compile(r"<!-- table: ([\w-]+\.md) (\w+) -->\n[^\n]*\n")
"""In a translated page, in the place of a table that a tool writes into the English one; then a link to it."""
_TWIN = re.compile(rf"(\]\([^)\s:]+){re.escape(CHINESE.suffix)}\.md(?=[#)])")
"""A link to a translated page: in the repository it leads there; in the tree of one language the page has the English
one's name."""
_PLACE = re.compile(r'^<a id="([\w-]+)"></a>\n\n(#+ [^\n]+)$', re.MULTILINE)
"""A heading with a place that links name: in the repository it stands before, since code hosts understand no other."""
_OTHER_LANGUAGE = re.compile(r"^\[[^\]]+\]\([^)/]*\.md\)\n+", re.MULTILINE)
"""A line that is nothing but a link to the page in another language."""


def write_tree(folder: Path, language: SiteLanguage) -> None:
    """Write the sources of the site into ``folder``, which must not be there.

    A file of the repository that pages link to and that is no page goes along below ``files``; of a link to a folder
    the text is left.
    """
    shutil.copytree(DOCS, folder, ignore=shutil.ignore_patterns("*.md"))
    for page in english_pages():
        written = folder / page.relative_to(DOCS)
        written.parent.mkdir(parents=True, exist_ok=True)
        translated = page.with_suffix(f"{language.suffix}.md")
        text = (translated if translated.exists() else page).read_text(encoding="utf-8")
        if not translated.exists() and page.name not in _IN_BOTH:
            heading, _, rest = text.partition("\n")
            note = in_language("This page has not been translated yet.", language)
            text = f"{heading}\n\n!!! note\n\n    {note}\n{rest}"
        text = _TABLE.sub(_table, text)
        if language is CHINESE:
            text = _TWIN.sub(r"\1.md", text)
        text = _PLACE.sub(r"\2 { #\1 }", text)
        depth = len(written.relative_to(folder).parents) - 1
        written.write_text(_links(text, folder, depth), encoding="utf-8")
    for path, text in reference.pages(language).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def english_pages() -> list[Path]:
    """The pages of ``docs`` as they are written in English, in the order of their names."""
    return [page for page in sorted(DOCS.rglob("*.md")) if not page.name.endswith(f"{CHINESE.suffix}.md")]


def _table(match: re.Match[str]) -> str:
    """What stands between the marks of a tool in a page.

    Raises:
        ValueError: the page has no such marks.
    """
    page, name = match.groups()
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.search(rf"<!-- {name}: begin[^\n]*-->\n(.*?)<!-- {name}: end -->", text, re.DOTALL)
    if found is None:
        raise ValueError(f"{page} has no table called {name}")
    return found[1]


def _links(text: str, folder: Path, depth: int) -> str:
    def target(match: re.Match[str]) -> str:
        shown, path = match[1], match[2]
        file = ROOT / path
        if not file.is_file():
            return shown
        copy = folder / "files" / path.lstrip(".")
        copy.parent.mkdir(parents=True, exist_ok=True)
        # As a text file: a page would need all that its own links lead to.
        copy = copy.with_name(f"{copy.name}.txt")
        shutil.copyfile(file, copy)
        return f"[{shown}]({'../' * depth}{copy.relative_to(folder).as_posix()})"

    # The site has a menu for the languages.
    return _OUTSIDE.sub(target, _OTHER_LANGUAGE.sub("", text))
