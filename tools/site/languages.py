"""What the site says by itself, in each of its languages."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import tomli


class SiteLanguage(NamedTuple):
    """One language of the site."""

    name: str
    """As npuify names it: ``en``, ``zh``."""
    suffix: str
    """Of the pages in ``docs`` that are written in it, before ``.md``."""
    folder: str
    """Of the built site, below its root."""
    theme: str
    """As the theme names it."""
    title: str
    """As its readers call it."""


ENGLISH = SiteLanguage("en", "", "", "en", "English")
CHINESE = SiteLanguage("zh", ".zh-CN", "zh", "zh", "中文")
LANGUAGES = (ENGLISH, CHINESE)


def in_language(english: str, language: SiteLanguage) -> str:
    """A text of the site in one of its languages.

    Raises:
        KeyError: the text has no translation.
    """
    return english if language is ENGLISH else _chinese()[english]


@cache
def _chinese() -> dict[str, str]:
    words: dict[str, str] = tomli.loads(Path(__file__).with_name("chinese.toml").read_text(encoding="utf-8"))["words"]
    return words
