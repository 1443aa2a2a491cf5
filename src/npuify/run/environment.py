"""The variables of CUDA and NCCL that the program or its caller sets: Ascend's get the same values.

Which variable is which stands in ``data/environment.json``, made from the knowledge tables.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from npuify.run import record

_ALLOCATOR_KEYS = (
    "max_split_size_mb",
    "garbage_collection_threshold",
    "expandable_segments",
    "roundup_power2_divisions",
)
_names: dict[str, str] = {}


def names() -> dict[str, str]:
    """Variable of CUDA → Ascend's of the same meaning."""
    if not _names:
        file = Path(__file__).parent / "data" / "environment.json"
        _names.update(json.loads(file.read_text(encoding="utf-8")))
    return _names


def value_of(name: str, value: str) -> str | None:
    """A variable's value as Ascend takes it; None where it has no counterpart, and is left out.

    As :func:`npuify.knowledge.settings.variables.translate`, of which this covers what is set while a program runs.
    """
    if name == "CUDA_VISIBLE_DEVICES":
        numbers = re.split(r"\s*,\s*", value.strip().strip(","))
        if value.strip() in ("", "-1"):
            return ""
        return ",".join(map(str, sorted({int(n) for n in numbers}))) if all(map(str.isdigit, numbers)) else None
    if name == "PYTORCH_CUDA_ALLOC_CONF":
        kept = [part.strip() for part in re.findall(r"[^,\[\]]+(?:\[[^\]]*\])?", value) if _is_kept(part)]
        return ",".join(kept) or None
    if name.endswith("ASYNC_ERROR_HANDLING"):
        return "1" if value in ("2", "3") else value if value in ("0", "1") else None
    return value


def _is_kept(part: str) -> bool:
    key, _, setting = part.strip().partition(":")
    small = key == "max_split_size_mb" and setting.strip().isdigit() and int(setting) <= 20
    return key in _ALLOCATOR_KEYS and not small


def translated(variables: dict[str, str]) -> dict[str, str]:
    """What Ascend's variables become by those of CUDA in ``variables``; one that is set itself stays."""
    made = {}
    for cuda, npu in names().items():
        if cuda in variables and npu not in variables:
            value = value_of(cuda, variables[cuda])
            if value is not None:
                made[npu] = value
    return made


def follow() -> None:
    """Translate what is set already, and all that the program sets from now on."""
    environ: Any = os.environ
    for npu, value in translated(dict(environ)).items():
        environ[npu] = value
    plain: Any = type(environ)
    ours: set[str] = set()

    class Environment(plain):  # type: ignore[misc]
        """``os.environ``, where Ascend's variables follow CUDA's."""

        def __setitem__(self, key: Any, value: Any) -> None:
            plain.__setitem__(self, key, value)
            npu = names().get(key)
            if npu is None or (npu in self and npu not in ours):
                return
            changed = value_of(key, value)
            if changed is not None:
                ours.add(npu)
                plain.__setitem__(self, npu, changed)
                record.variable(key, value, npu, changed)

        def __delitem__(self, key: Any) -> None:
            plain.__delitem__(self, key)
            npu = names().get(key)
            if npu in ours and npu in self:
                plain.__delitem__(self, npu)

    Environment.__name__ = plain.__name__
    environ.__class__ = Environment
