"""Names of torch and torch_npu that a message says are missing, looked up in the tables of their releases."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from npuify.knowledge.explain.names import explain_name
from npuify.knowledge.pytorch.removed import removed_name, removed_names
from npuify.language import commas, phrase

from .signatures import Match

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.pytorch.removed import Removed

LACKS: Final = re.compile(
    r"module '(?P<module>torch(?:_npu)?(?:\.\w+)*)' has no attribute '(?P<attribute>\w+)'"
    r"|cannot import name '(?P<imported>\w+)' from '(?P<source>torch(?:_npu)?(?:\.\w+)*)'"
    r"|'_OpNamespace' 'npu' object has no attribute '(?P<operator>\w+)'"
    r"|No module named '(?P<submodule>torch(?:_npu)?\.[\w.]+)'"
)
"""What Python and torch say of a name that is not there."""
_KERNEL: Final = re.compile(r"(?:operator '|run ')(?P<operator>aten::\w+(?:\.\w+)?)'")
_CAUSE: Final = "version-mismatch"


def name_match(text: str) -> Match | None:
    """What the tables know of the name that ``text`` says is missing; None where it names none, or they know nothing.

    Args:
        text: a line, usually the exception that ended a traceback.
    """
    found = LACKS.search(text)
    if found is None:
        return None
    for name in _spellings(found):
        if name.startswith(("torch_npu.", "torch.npu.")):
            told = _npu_name(name)
        else:
            removed = removed_name(name, "999")
            told = _removed(name, removed) if removed is not None else None
        if told is not None:
            return told
    return None


def kernel_told(text: str) -> str:
    """What the tables say of the operator that a message names: in which releases it has a kernel; empty: nothing."""
    found = _KERNEL.search(text)
    known = explain_name(found["operator"]) if found is not None else None
    if found is None or known is None or not known.releases:
        return ""
    served = dict.fromkeys(row.note for row in known.releases)
    newest = known.releases[0]
    if len(served) == 1:
        return phrase("{found} in every torch_npu read: {note}.", found=found["operator"], note=newest.note)
    return phrase(
        "{found} in torch_npu {torch_npu}: {note}; other releases differ.",
        found=found["operator"],
        torch_npu=newest.torch_npu,
        note=newest.note,
    )


def _spellings(found: re.Match[str]) -> Iterator[str]:
    if found["operator"]:
        yield f"torch_npu.{found['operator']}"
    elif found["submodule"]:
        yield found["submodule"]
    elif found["module"]:
        yield f"{found['module']}.{found['attribute']}"
    else:
        yield f"{found['source']}.{found['imported']}"


def _npu_name(name: str) -> Match | None:
    known = explain_name(name)
    if known is None or not known.releases:
        return None
    having = [row.torch_npu for row in known.releases if row.name]
    if not having:
        return None
    lacking = [row.torch_npu for row in known.releases if not row.name]
    why = (
        phrase("{name} is in torch_npu {having} to {having2}", name=name, having=having[-1], having2=having[0])
        if len(having) > 1
        else phrase("Only torch_npu {having}", having=having[0])
    )
    if len(having) == 1:
        why += f" has {name}"
    why += (
        phrase(", and not in {lacking}.", lacking=commas(lacking[:4]))
        if lacking
        else phrase(", which are all that were read.")
    )
    return _match(
        name, why, phrase("Install one of these with its torch and CANN, or a release of the library made for yours.")
    )


def _removed(name: str, removed: Removed) -> Match:
    why = phrase("{name} is gone from torch {first}", name=removed.name, first=removed.first) + (
        phrase("; {last} has it.", last=removed.last) if removed.last else "."
    )
    row = (removed_names().get(name) or removed).replacement or removed.replacement
    becomes = (row.becomes or row.module or row.value) if row is not None else ""
    fix = (
        phrase("Use {becomes} in its place.", becomes=becomes)
        if becomes
        else f"{row.advice[0].upper()}{row.advice[1:]}."
        if row
        else ""
    )
    return _match(name, why, fix or phrase("Use a release of the library made for this torch."))


def _match(name: str, why: str, fix: str) -> Match:
    from npuify.model import Evidence

    return Match(
        name=f"name-{name}",
        meaning=why,
        cause=_CAUSE,
        role="cause",
        weight=88,
        evidence=Evidence.PACKAGE,
        source="the tables of the releases of torch and torch_npu",
        why=why,
        fix=fix,
    )
