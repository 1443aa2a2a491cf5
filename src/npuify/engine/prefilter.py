"""The prefilter: by a file's text alone, can it concern the rules, and what does it show of the project?"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from npuify.analysis.own_cuda import may_define_cuda
from npuify.engine import opt_ins
from npuify.engine.analysers import analysers_for
from npuify.engine.kept.cache import CachedFile
from npuify.engine.kept.files import content_digest
from npuify.engine.ledger import vocabulary
from npuify.engine.ruleset import RuleSet, rules_to_run
from npuify.language import phrase
from npuify.model import FileError
from npuify.project.import_graph import imports_of
from npuify.project.traces import Trace, trace
from npuify.rules.common.npu_support import supports_npu
from npuify.rules.devices.default_types import may_make_default_type, sets_cuda_as_default
from npuify.rules.packages.imports import import_names
from npuify.source.python.python2 import may_be_python_2

if TYPE_CHECKING:
    from array import array

    from npuify.engine.kept.cache import Stamp
    from npuify.project.import_graph import Imports
    from npuify.rules.selection import Selection

FILES_PER_PROCESS = 1000
"""Files to prefilter that take about as long as starting a process does."""


class ToPrefilter(NamedTuple):
    """A file of which nothing is known yet."""

    relative: str
    location: str
    kind: str
    stamp: Stamp | None


class Prefiltered(NamedTuple):
    """What the text of a file shows."""

    file: CachedFile | None = None
    """None where it cannot be read."""
    matches: array[int] | None = None
    """Those of the rules' words in a Python file, as :meth:`npuify.words.Words.matches` packs them."""
    error: FileError | None = None


class Prefilter:
    """Reads files and searches them for words.

    Args:
        selection, style, place_on_npu, soc: which rules count, as :class:`npuify.engine.ruleset.RuleSet` takes them.
        rules: those rules, where they were prepared already.
        own: top-level names of the project's own modules: to import these asks for no package.
    """

    def __init__(
        self,
        selection: Selection,
        style: str,
        place_on_npu: bool,
        soc: str,
        rules: RuleSet | None = None,
        own: frozenset[str] = frozenset(),
    ) -> None:
        self._arguments = (selection, style, place_on_npu, soc, None, own)
        self._opt_ins = selection.opt_ins
        self._rules = rules or RuleSet(rules_to_run(selection), style, place_on_npu=place_on_npu, soc=soc)
        self._packages = frozenset(name.lower() for name in import_names() if name.partition(".")[0] not in own)

    def __reduce__(self) -> tuple[type[Prefilter], tuple[Selection, str, bool, str, None, frozenset[str]]]:
        return Prefilter, self._arguments

    def __call__(self, file: ToPrefilter) -> Prefiltered:
        """What a file shows."""
        try:
            with open(file.location, "rb") as stream:  # noqa: PTH123 - the scan's inner loop
                raw = stream.read()
        except OSError as error:
            return Prefiltered(
                error=FileError(file.relative, phrase("cannot be read: {value}", value=error.strerror or error))
            )
        is_python = file.kind in ("python", "stub")
        if is_python and b"\0" in raw[:1024]:
            return Prefiltered(error=_not_python(file.relative, raw))
        lower = raw.lower()
        rules = self._rules
        shows = Trace()
        if file.kind in ("python", "notebook"):
            shows = trace(lower, rules.imports, notebook=file.kind == "notebook")
        imports = imports_of(raw) if is_python else None
        python = is_python and (
            rules.may_concern(lower)
            or self._imports_package(imports)
            # Without a word of any rule it would never be parsed, and nobody told that it is no Python 3.
            or may_be_python_2(raw)
        )
        concerns = (
            python
            or (file.kind in ("python", "notebook") and opt_ins.may_concern(self._opt_ins, raw))
            or any(analyser.may_concern(lower) for analyser in analysers_for(file.relative, file.kind))
        )
        if file.kind == "lock" and b"\0" in raw[:1024]:
            concerns = False  # a lock of Gradle or of a database: lists of packages are text
        if concerns and b"\0" in raw[:1024] and not raw.startswith((b"\xff\xfe", b"\xfe\xff")):
            return Prefiltered(error=FileError(file.relative, phrase("is not text; it was not looked at")))
        known = CachedFile(
            stamp=file.stamp or (0, len(raw)),
            content=content_digest(raw),
            concerns=concerns,
            own_cuda=python and file.kind == "python" and may_define_cuda(raw, lower, rules.own_cuda),
            mentions=concerns or vocabulary.concerns(lower),
            supports_npu=file.kind == "python" and supports_npu(file.relative, raw, lower, rules.support),
            sets_default_type=python and file.kind == "python" and sets_cuda_as_default(raw),
            makes_default_type=file.kind == "python" and may_make_default_type(raw),
            trace=shows,
            imports=imports if file.kind == "python" else None,
        )
        return Prefiltered(known, rules.words.matches(lower) if python else None)

    def _imports_package(self, imports: Imports | None) -> bool:
        """Whether one of these imports is of a package, or a part of one, that fails or differs on an NPU machine."""
        for name in imports.absolute if imports is not None else ():
            whole = name.lower()
            while whole:
                if whole in self._packages:
                    return True
                whole = whole.rpartition(".")[0]
        return False


_WIDE = ((b"\xff\xfe\0\0", "UTF-32"), (b"\0\0\xfe\xff", "UTF-32"), (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"))


def _not_python(relative: str, raw: bytes) -> FileError:
    """What to say of a Python file that holds zero bytes, which Python itself refuses."""
    for mark, encoding in _WIDE:
        if raw.startswith(mark):
            message = phrase("is {encoding} text, which Python cannot run; it was not looked at", encoding=encoding)
            return FileError(relative, message, advice=phrase("save it as UTF-8"))
    return FileError(relative, phrase("is not text; it was not looked at"))
