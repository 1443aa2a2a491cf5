"""One finding for one decision: places of a file that a person settles together are told together.

That Horovod has no NPU is decided once, however many lines call it. Every place stays accounted for: the ledger is made
before, the finding names all lines, and its edits are those of all of them, applied together or not at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from npuify.model import Finding

_ANY: Final = ""
_DECISIONS: Final = {
    # code: what the subjects of its findings begin with
    "NPU310": _ANY,
    "NPU606": _ANY,
    "NPU623": _ANY,
    "NPU669": _ANY,
    "NPU709": _ANY,
    "NPU720": _ANY,
    "NPU901": _ANY,
    "NPU903": _ANY,
    "NPU904": _ANY,
    "NPU906": _ANY,
    "NPU915": "hvd.",
    "NPU921": _ANY,
    "NPU934": _ANY,
}
"""Rules of which many findings in a file are one decision, with what their subjects begin with."""
_BY_MESSAGE: Final = frozenset(_DECISIONS) - {"NPU623"}
"""Those of which only places with the same message are one: what is not Horovod's, and differs in what is said."""
_WHOLE: Final = "hvd."
"""Of a library with this in front every call is the same decision, whatever it is called."""
_SHOWN: Final = 12
"""Lines that a message names; the finding has all places."""


def told_together(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, with one for all places of a file that are one decision, at the first of them.

    Places that differ in what is done about them, in the advice, or in the option that they need, stay apart.
    """
    groups: dict[tuple[object, ...], list[int]] = {}
    told = list(findings)
    for number, one in enumerate(told):
        begins = _DECISIONS.get(one.code)
        if begins is not None and one.subject.startswith(begins):
            said = one.message if one.code in _BY_MESSAGE and not one.subject.startswith(_WHOLE) else ""
            key = (one.file, one.code, said, one.severity, one.safety, bool(one.edits), one.only_with, one.advice)
            groups.setdefault(key, []).append(number)
    dropped: set[int] = set()
    for numbers in groups.values():
        if len(numbers) > 1:
            told[numbers[0]] = _together([told[number] for number in numbers])
            dropped.update(numbers[1:])
    return [one for number, one in enumerate(told) if number not in dropped]


def _together(findings: Sequence[Finding]) -> Finding:
    first, *others = sorted(findings, key=lambda one: one.start)
    lines = sorted({one.start.line for one in others} - {first.start.line})
    shown = ", ".join(map(str, lines[:_SHOWN])) + (", …" if len(lines) > _SHOWN else "")
    message = first.message.rstrip(".。") if lines else first.message
    if len(lines) == 1:
        message = phrase("{message}; the same on line {line}", message=message, line=shown)
    elif lines:
        message = phrase("{message}; the same on lines {lines}", message=message, lines=shown)
    edits = {(edit.start, edit.end, edit.after): edit for one in findings for edit in one.edits}
    return msgspec.structs.replace(
        first,
        message=message,
        edits=tuple(edits[key] for key in sorted(edits)),
        needs_torch_npu=any(one.needs_torch_npu for one in findings),
        also=tuple(sorted({one.start for one in others})),
    )
