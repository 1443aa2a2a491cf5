"""The catalogs of one language, as gettext reads them: a file for each room that speaks."""

from __future__ import annotations

import gettext
import re
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

OF_CODE: Final = "code-"
"""How catalogs begin that hold the comments of code which is written into projects."""
FOLDERS: Final = {"zh": "zh_CN"}
_FORMATTER: Final = Formatter()
_CHINESE: Final = re.compile("[\u4e00-\u9fff]")
_LATIN: Final = re.compile("[A-Za-z0-9`]")
_FULL_WIDTH: Final = re.compile("[，。；：？！、（）「」]")


class Catalog:
    """What a language has for the texts of npuify.

    Args:
        language: a key of ``FOLDERS``.
    """

    comma = "、"
    semicolon = "；"
    alternative = " 或 "
    between_sentences = ""

    def __init__(self, language: str) -> None:
        self.language = language
        folder = Path(__file__).parent / FOLDERS[language] / "LC_MESSAGES"
        files = sorted(folder.glob("*.mo"), reverse=True)
        self._texts = _read(file for file in files if not file.name.startswith(OF_CODE))
        self._files_of_code = [file for file in files if file.name.startswith(OF_CODE)]
        self._of_code: gettext.NullTranslations | None = None
        self._known: dict[str, str] = {}

    def known(self, english: str) -> str:
        """What the catalogs have for a text; where they have nothing, the text."""
        found = self._known.get(english)
        if found is None:
            found = self._texts.gettext(english) if english else ""
            if found == english and " " in english and english[-1] not in ".:;":
                # Where a sentence goes on, its full stop is left out.
                found = self._texts.gettext(f"{english}.").removesuffix("。")
                found = english if found == f"{english}." else found
            if found != english:
                self._known[english] = found
        return found

    def phrase(self, english: str, values: dict[str, object]) -> str:
        """As :func:`npuify.language.phrase`."""
        found = self.known(english)
        return filled_in(found, self._translated(values)) if values else found

    def plural(self, one: str, many: str, count: int, values: dict[str, object]) -> str:
        """As :func:`npuify.language.plural`."""
        found = self._texts.ngettext(one, many, count)
        if found in (one, many):
            found = self.known(one)
        return filled_in(found, {"count": count, **self._translated(values)})

    def in_code(self, english: str) -> str:
        """What the catalogs have for a text in code that is written; they are read when it is asked for."""
        if self._of_code is None:
            self._of_code = _read(self._files_of_code)
        return self._of_code.gettext(english)

    def _translated(self, values: dict[str, object]) -> dict[str, object]:
        # A single word may be a name that happens to be a word of the catalog.
        return {
            name: self.known(value) if isinstance(value, str) and " " in value else value
            for name, value in values.items()
        }


def _read(files: Iterable[Path]) -> gettext.NullTranslations:
    texts: gettext.NullTranslations = gettext.NullTranslations()
    for file in files:
        with file.open("rb") as stream:
            found = gettext.GNUTranslations(stream)
        found.add_fallback(texts)
        texts = found
    return texts


def filled_in(text: str, values: dict[str, object]) -> str:
    """As :meth:`str.format`, with a blank between Chinese and Latin where a value begins or ends, and none between
    Chinese and Chinese or beside full-width punctuation: what stands for a placeholder may be either."""
    made = ""
    for literal, name, form, conversion in _FORMATTER.parse(text):
        made = _beside(made, literal)
        if name is not None:
            value, _ = _FORMATTER.get_field(name, (), values)
            made = _beside(made, _FORMATTER.format_field(_FORMATTER.convert_field(value, conversion), form or ""))
    return made


def _beside(left: str, right: str) -> str:
    before, after = left[-1:], right[:1]
    if (_CHINESE.match(before) and _LATIN.match(after)) or (_LATIN.match(before) and _CHINESE.match(after)):
        return f"{left} {right}"
    if before == " " and _CHINESE.match(left[-2:-1]) and _CHINESE.match(after):
        return left[:-1] + right
    if after == " " and _CHINESE.match(before) and _CHINESE.match(right[1:2]):
        return left + right[1:]
    # One blank; several are columns of a table.
    if before == " " and left[-2:-1] != " " and _FULL_WIDTH.match(after):
        return left[:-1] + right
    if after == " " and right[1:2] != " " and _FULL_WIDTH.match(before):
        return left + right[1:]
    return left + right
