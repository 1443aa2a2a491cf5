"""The sentences of the guide, in English and Chinese, from ``data/texts.toml``."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from npuify.knowledge.hand_written import read_rows
from npuify.language import commas, phrase
from npuify.model import NpuifyError

LANGUAGES: Final = ("en", "zh")
_TEXTS: Final = Path(__file__).resolve().parents[1] / "data" / "texts.toml"


class Text(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One sentence; names in braces are filled in."""

    key: str
    en: str
    zh: str


class Texts:
    """The sentences of one language."""

    def __init__(self, language: str) -> None:
        """
        Raises:
            NpuifyError: there is no such language.
        """
        if language not in LANGUAGES:
            raise NpuifyError(
                phrase("there is no language {language!r}", language=language),
                advice=phrase("one of {LANGUAGES}", LANGUAGES=commas(LANGUAGES)),
            )
        self.language = language

    def __call__(self, key: str, **values: object) -> str:
        """The sentence of this key."""
        row = rows()[key]
        text = row.zh if self.language == "zh" else row.en
        return text.format(**values) if values else text


@cache
def rows() -> dict[str, Text]:
    """All sentences by key."""
    return {row.key: row for row in read_rows(_TEXTS, "text", Text)}
