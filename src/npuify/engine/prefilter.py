"""The first look at a file, at its text alone: can it concern the rules, and what does it show of the project?"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from npuify.analysis.project import may_define_cuda
from npuify.engine.analysers import analysers_for
from npuify.engine.cache import Entry
from npuify.engine.visitor import RuleSet
from npuify.model import FileError
from npuify.project.traces import Trace, trace
from npuify.rules.custom.findings import may_concern as custom_may_concern
from npuify.rules.npu_support import supports_npu
from npuify.rules.operators.cpu_fallback import may_concern as fallback_may_concern
from npuify.rules.operators.stand_ins import may_concern as stand_in_may_concern
from npuify.rules.packages.imports import import_names

if TYPE_CHECKING:
    from array import array

    from npuify.engine.cache import Stamp
    from npuify.rules.selection import Selection

WORTH_A_PROCESS = 1000
"""Files to look at that take about as long as starting a process does."""


class Unseen(NamedTuple):
    """A file of which nothing is known yet."""

    relative: str
    location: str
    kind: str
    stamp: Stamp | None


class Seen(NamedTuple):
    """What the first look at a file shows."""

    entry: Entry | None = None
    """None where it cannot be looked at any closer."""
    hits: array[int] | None = None
    """Where the rules' words stand in a Python file, as :meth:`npuify.words.Words.hits` gives it."""
    error: FileError | None = None


class FirstLook:
    """Looks at files.

    Args:
        selection, style, placing, soc: which rules count, as :class:`npuify.engine.visitor.RuleSet` takes them.
        rules: those rules, where they were prepared already.
    """

    def __init__(self, selection: Selection, style: str, placing: bool, soc: str, rules: RuleSet | None = None) -> None:
        self._given = (selection, style, placing, soc)
        self._wishes = selection.wishes
        self._rules = rules or RuleSet(selection, style, placing=placing, soc=soc)
        self._packages = import_names()

    def __reduce__(self) -> tuple[type[FirstLook], tuple[Selection, str, bool, str]]:
        return FirstLook, self._given

    def __call__(self, file: Unseen) -> Seen:
        """What a file shows."""
        try:
            with open(file.location, "rb") as stream:  # noqa: PTH123 - the scan's inner loop
                raw = stream.read()
        except OSError as error:
            return Seen(error=FileError(file.relative, f"cannot be read: {error.strerror or error}"))
        if file.kind == "python" and b"\0" in raw[:1024]:
            return Seen(error=_not_python(file.relative, raw))
        lower = raw.lower()
        rules = self._rules
        others = analysers_for(file.relative, file.kind)
        shown = Trace()
        if file.kind in ("python", "notebook"):
            shown = trace(lower, rules.imports, notebook=file.kind == "notebook")
        python = file.kind == "python" and (
            rules.may_concern(lower) or any(name.partition(".")[0] in self._packages for name, _ in shown.imports)
        )
        asked = file.kind in ("python", "notebook") and self._asked_for(raw)
        concerns = python or asked or any(analyser.may_concern(lower) for analyser in others)
        if concerns and b"\0" in raw[:1024] and not raw.startswith((b"\xff\xfe", b"\xfe\xff")):
            return Seen(error=FileError(file.relative, "is not text; it was not looked at"))
        entry = Entry(
            file.stamp or (0, len(raw)),
            concerns,
            python and may_define_cuda(raw, lower, rules.own_cuda),
            file.kind == "python" and supports_npu(file.relative, raw, lower, rules.support),
            shown,
        )
        return Seen(entry, rules.words.hits(lower) if python else None)

    def _asked_for(self, raw: bytes) -> bool:
        """Whether a file can hold anything that the user asked for beyond the rules."""
        wishes = self._wishes
        if wishes.custom and custom_may_concern(wishes.custom, raw):
            return True
        if wishes.cpu_fallback and fallback_may_concern(raw, wishes.cpu_operators):
            return True
        return wishes.replace_unsupported and stand_in_may_concern(raw)


_WIDE = ((b"\xff\xfe\0\0", "UTF-32"), (b"\0\0\xfe\xff", "UTF-32"), (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"))


def _not_python(relative: str, raw: bytes) -> FileError:
    """What to say of a Python file that holds zero bytes, which Python itself refuses."""
    for mark, encoding in _WIDE:
        if raw.startswith(mark):
            message = f"is {encoding} text, which Python cannot run; it was not looked at"
            return FileError(relative, message, advice="save it as UTF-8")
    return FileError(relative, "is not text; it was not looked at")
