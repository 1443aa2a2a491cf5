"""The language in which npuify speaks to people: English, or what the catalogs of another language have for it.

A text for people is a whole sentence, in English, with a placeholder for each part that is not known beforehand:
``phrase("{name} has no effect on an NPU", name=name)``. In English that is the answer; no catalog is read, and nothing
is looked up. In another language the sentence is looked up as it stands here, and an unknown one stays English.

Names do not depend on the language: codes, subjects, keys of JSON, names of checks, file names. So a finding is the
same finding in each.
"""

from __future__ import annotations

import contextlib
import os
import sys
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from npuify.language.catalog import Catalog

LANGUAGES: Final = ("en", "zh")
ENGLISH: Final = "en"
VARIABLE: Final = "NPUIFY_LANGUAGE"
"""Says to the processes that npuify starts which language is meant; a person may set it, too."""

_of_process: Catalog | None = None
_of_context: ContextVar[Catalog | None] = ContextVar("language")
"""That of a part of a process, such as the answer to one question of a server; else that of the process holds."""


def phrase(english: str, /, **values: object) -> str:
    """A text for people.

    Args:
        english: one or more whole sentences, with a placeholder, as :meth:`str.format` reads it, for each of
            ``values``. Without values it is taken as it is, braces and all.
        values: what the placeholders stand for. One that is itself a text of the catalog is translated, too.
    """
    catalog = _of_context.get(_of_process)
    if catalog is None:
        return english.format(**values) if values else english
    return catalog.phrase(english, values)


def phrase_in_code(english: str, /) -> str:
    """A comment or docstring of code that is written into a project, which has catalogs of its own."""
    catalog = _of_context.get(_of_process)
    return english if catalog is None else catalog.in_code(english)


def plural(one: str, many: str, count: int, /, **values: object) -> str:
    """A text for people that depends on a number, which the placeholder ``{count}`` stands for."""
    catalog = _of_context.get(_of_process)
    if catalog is None:
        return (one if count == 1 else many).format(count=count, **values)
    return catalog.plural(one, many, count, values)


def mark(english: str) -> str:
    """A text that is kept, and handed to :func:`phrase` where a person is to read it: in a table, say."""
    return english


def told(text: str) -> str:
    """A text that was kept in a table or a result as it was written. A single word may be a name, and stays."""
    return phrase(text) if " " in text else text


def told_lines(text: str) -> str:
    """Lines of text, of which those that stand in the catalog are translated, whatever their indent."""
    if spoken() == ENGLISH:
        return text
    lines = (line[: len(line) - len(line.lstrip())] + told(line.lstrip()) for line in text.split("\n"))
    return "\n".join(lines)


def documentation_in_language(documentation: str) -> str:
    """A docstring that people are shown: its paragraphs are texts, its code stays as it is."""
    if spoken() == ENGLISH:
        return documentation
    told_of = []
    for paragraph in documentation.split("\n\n"):
        heading = paragraph.strip().removesuffix("::")
        if paragraph.startswith(" ") or not paragraph.strip():
            told_of.append(paragraph)
        elif heading != paragraph.strip() and heading.isalpha():
            told_of.append(f"{phrase(heading)}::")
        else:
            told_of.append(phrase(" ".join(paragraph.split())))
    return "\n\n".join(told_of)


def commas(parts: Iterable[str]) -> str:
    """Parts of a sentence one after the other, as in "a, b, c". A single word may be a name, and stays."""
    catalog = _of_context.get(_of_process)
    return ", ".join(parts) if catalog is None else catalog.comma.join(map(told, parts))


def listed(parts: Iterable[str]) -> str:
    """Parts of a sentence that belong together, as in "a and b"."""
    catalog = _of_context.get(_of_process)
    return " and ".join(parts) if catalog is None else catalog.comma.join(map(told, parts))


def alternatives(parts: Iterable[str]) -> str:
    """Parts of a sentence of which one holds, as in "a or b"."""
    catalog = _of_context.get(_of_process)
    return " or ".join(parts) if catalog is None else catalog.alternative.join(map(told, parts))


def semicolons(parts: Iterable[str]) -> str:
    """Clauses one after the other, as in "it is slow; it is not exact"."""
    catalog = _of_context.get(_of_process)
    return "; ".join(parts) if catalog is None else catalog.semicolon.join(map(told, parts))


def sentences(*parts: str) -> str:
    """Whole sentences one after the other; empty ones are left out."""
    catalog = _of_context.get(_of_process)
    between = " " if catalog is None else catalog.between_sentences
    return between.join(phrase(part) for part in parts if part)


def padded(word: str, width: int, *, right: bool = False) -> str:
    """``word`` with blanks up to ``width`` columns of a terminal, in which a Chinese character takes two."""
    blanks = " " * (width - width_of(word))
    return blanks + word if right else word + blanks


def width_of(word: str) -> int:
    """How many columns of a terminal a text takes."""
    if word.isascii():
        return len(word)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(one) else 2 if east_asian_width(one) in "WF" else 1 for one in word)


# --- which language ---


def spoken() -> str:
    """The language of this place in the program."""
    catalog = _of_context.get(_of_process)
    return ENGLISH if catalog is None else catalog.language


def speak(language: str) -> None:
    """Have this process speak a language, one of ``LANGUAGES``; any other is taken as English."""
    global _of_process
    _of_process = _catalog(language)


@contextlib.contextmanager
def speaking(language: str) -> Iterator[None]:
    """Have what is done inside, in this thread, speak a language; empty changes nothing."""
    if not language:
        yield
        return
    before = _of_context.set(_catalog(language))
    try:
        yield
    finally:
        _of_context.reset(before)


def usual(environment: Mapping[str, str] | None = None) -> str:
    """The language that a person's settings ask for; English where they do not tell.

    ``NPUIFY_LANGUAGE`` is asked first, then the locale: the first of ``LC_ALL``, ``LC_MESSAGES`` and ``LANG`` that is
    set; on Windows, where none is, the language of its surface.
    """
    environment = os.environ if environment is None else environment
    said = environment.get(VARIABLE, "").lower()
    if said in LANGUAGES:
        return said
    name = next(filter(None, (environment.get(key, "") for key in ("LC_ALL", "LC_MESSAGES", "LANG"))), "")
    return of_locale(name) if name or sys.platform != "win32" else of_locale(_locale_of_windows())


def of_locale(name: str) -> str:
    """The language of a locale such as ``zh_CN.UTF-8``. Traditional Chinese is another written language."""
    language, *rest = name.lower().partition(".")[0].partition("@")[0].replace("_", "-").split("-")
    return "zh" if language == "zh" and not {"tw", "hk", "mo", "hant"} & set(rest) else ENGLISH


def _locale_of_windows() -> str:
    import ctypes
    import locale

    windows = getattr(ctypes, "windll", None)
    return locale.windows_locale.get(windows.kernel32.GetUserDefaultUILanguage(), "") if windows else ""


_catalogs: dict[str, Catalog] = {}


def _catalog(language: str) -> Catalog | None:
    if language == ENGLISH or language not in LANGUAGES:
        return None
    if language not in _catalogs:
        from npuify.language.catalog import Catalog

        _catalogs[language] = Catalog(language)
    return _catalogs[language]
