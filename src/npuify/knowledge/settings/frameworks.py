"""Settings of frameworks that have to change for an NPU: the rows of ``settings.toml``."""

from __future__ import annotations

import re
from functools import cache, lru_cache

import msgspec

from npuify.knowledge.hand_written import DATA, read_rows
from npuify.model import Evidence, Safety, Severity


class SettingFact(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A setting whose value has to change. The fields are described at the head of the table."""

    key: str
    value: str
    message: str
    severity: Severity
    evidence: Evidence
    source: str
    within: str = ""
    new: str = ""
    safety: Safety = Safety.MANUAL
    advice: str = ""

    def fits(self, path: str, value: str) -> bool:
        """Whether the row, which is about the last key of ``path``, is about this value, found there."""
        return re.fullmatch(self.value, value) is not None and (
            not self.within or re.search(self.within, path) is not None
        )


@cache
def setting_facts() -> tuple[SettingFact, ...]:
    """All rows."""
    return tuple(read_rows(DATA / "settings.toml", "setting", SettingFact))


def setting_fact(path: tuple[str, ...], value: str) -> SettingFact | None:
    """The row for a setting, by the keys that lead to it and its value."""
    last = next((key for key in reversed(path) if key != "#"), "")
    rows = _rows_for(last)
    if not rows:
        return None
    joined = ".".join(_plain(key) for key in path if key != "#")
    return next((row for row in rows if row.fits(joined, value)), None)


def _plain(key: str) -> str:
    return key.lstrip("-+").lower().replace("-", "_")


@lru_cache(maxsize=4096)
def _rows_for(key: str) -> tuple[SettingFact, ...]:
    """The rows about a key, which is asked for again and again."""
    name = re.split(r"[./@]", _plain(key))[-1]
    return tuple(row for row in setting_facts() if re.fullmatch(row.key, name))
