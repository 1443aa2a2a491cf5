"""Settings of frameworks that have to change for an NPU: the rows of ``settings.toml``."""

from __future__ import annotations

import re
from functools import cache

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

    def fits(self, name: str, path: str, value: str) -> bool:
        """Whether the row is about the setting ``name``, found under ``path``, with this value."""
        return (
            re.fullmatch(self.key, name) is not None
            and re.fullmatch(self.value, value) is not None
            and (not self.within or re.search(self.within, path) is not None)
        )


@cache
def setting_facts() -> tuple[SettingFact, ...]:
    """All rows."""
    return tuple(read_rows(DATA / "settings.toml", "setting", SettingFact))


def setting_fact(path: tuple[str, ...], value: str) -> SettingFact | None:
    """The row for a setting, by the keys that lead to it and its value."""
    keys = [key.lstrip("-+").lower().replace("-", "_") for key in path if key != "#"]
    if not keys:
        return None
    name = re.split(r"[./@]", keys[-1])[-1]
    joined = ".".join(keys)
    return next((row for row in setting_facts() if row.fits(name, joined, value)), None)
