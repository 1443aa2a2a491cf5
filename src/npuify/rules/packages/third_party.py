"""Packages of others, followed into their source: which functions need what an NPU lacks, and who calls them."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from npuify.analysis.project import ProjectIndex, is_test, module_name
from npuify.language import phrase
from npuify.model import Evidence, Finding, Safety, Severity
from npuify.project import find_files
from npuify.rules.common.span_findings import span_finding
from npuify.rules.registry import Rule, list_rule
from npuify.rules.topics import belongs_to
from npuify.source.python import PythonSource
from npuify.source.python.scopes import absolute_module
from npuify.source.text import UnreadableText

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from npuify.model import ScanResult
    from npuify.project import ProjectFile


def _documentation(node: object, file: object) -> Iterator[object]:
    """A call of another package's function that needs what an NPU lacks, as that package's own source shows.

    Reported where the source is given with ``--third-party``, for functions that contain a finding npuify cannot fix,
    or call such a function; for a class, its construction and its call count. Imports of modules that in turn import
    something an NPU machine lacks are also reported.
    """
    raise NotImplementedError("calls of other packages are determined for the whole project")


RULE = list_rule(
    Rule(
        "NPU760",
        "third-party-unsupported",
        Safety.MANUAL,
        Severity.ERROR,
        Evidence.ASSUMED,
        "the package's source, read without running",
        (),
        (),
        _documentation,
    )
)

_IMPORTS = ("NPU505", "NPU620")
"""Findings about imports that fail."""
_OF_A_CALL = frozenset(("__init__", "forward", "__call__", "__new__"))
"""Methods that run when a class is constructed, or a module is called."""


class Reason(NamedTuple):
    """Why a function cannot run on an NPU."""

    message: str
    place: str


class Package:
    """The source of a package.

    Args:
        folder: the package's own folder, or the folder of a repository that holds it.
        scan: what a scan of that folder found.
    """

    def __init__(self, folder: Path, scan: ScanResult) -> None:
        inside = (folder / "__init__.py").exists()
        root = folder.absolute().parent if inside else folder
        prefix = f"{folder.absolute().name}/" if inside else ""
        files = [f"{prefix}{file.relative}" for file in find_files([folder], kinds={"python"}, errors=[])]
        self.index = ProjectIndex(root, [file for file in files if not is_test(file)], [])
        self.names = frozenset(name.partition(".")[0] for name in self.index.modules)
        self._calls: dict[str, set[str]] = {}
        self._imports: dict[str, set[str]] = {}
        self.reasons: dict[str, Reason] = {}
        self.unimportable: dict[str, Reason] = {}
        wrong: dict[str, list[Finding]] = {}
        for finding in scan.findings:
            if _stops(finding):
                wrong.setdefault(prefix + finding.file, []).append(finding)
        places: dict[str, list[tuple[int, str]]] = {}
        for relative, findings in wrong.items():
            places[relative] = [(finding.start.line, finding.message) for finding in findings]
        for operator in scan.survey.operators:
            if operator.difficulty != "host" and not operator.has_npu:
                for place in operator.calls:
                    file, _, line = place.rpartition(":")
                    what = phrase(
                        "calls {module}.{name}, which is CUDA code", module=operator.module, name=operator.name
                    )
                    places.setdefault(prefix + file, []).append((int(line), what))
        for relative in self.index.modules.values():
            self._read(relative, places.get(relative, []))
        for relative, findings in wrong.items():
            self._find_failing_imports(relative, [finding for finding in findings if finding.code in _IMPORTS])
        self._spread()
        self._spread_imports()

    def _find_failing_imports(self, relative: str, findings: Sequence[Finding]) -> None:
        """Note that a module cannot be imported where one of the findings is about an import that runs with it."""
        source = _source(self.index.root / relative, relative) if findings else None
        if source is None:
            return
        for statement in source.tree.body:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                for finding in findings:
                    if finding.start.line == statement.lineno:
                        reason = Reason(finding.message, f"{relative}:{statement.lineno}")
                        self.unimportable.setdefault(module_name(relative), reason)

    def _spread_imports(self) -> None:
        """What imports such a module cannot be imported either."""
        users: dict[str, set[str]] = {}
        for name, imported in self._imports.items():
            for one in imported:
                users.setdefault(one, set()).add(name)
        pending = list(self.unimportable)
        while pending:
            name = pending.pop()
            for user in users.get(name, set()) - self.unimportable.keys():
                self.unimportable[user] = self.unimportable[name]
                pending.append(user)

    def _read(self, relative: str, wrong: Sequence[tuple[int, str]]) -> None:
        source = _source(self.index.root / relative, relative, self.index.reexport)
        if source is None:
            return
        module = module_name(relative)
        imported = {name for statement in source.tree.body for name in _imported(statement, source)}
        self._imports[module] = (imported | set(_above(module))) & self.index.modules.keys()
        source.visit(range(1, len(source.text.line_starts) + 1), lambda _: None)
        for name, node, owner in _functions(source.tree, module_name(relative)):
            reached = set()
            for inner in ast.walk(node):
                if isinstance(inner, ast.Call):
                    called = source.qualname(inner.func)
                    if called is None and owner and isinstance(inner.func, ast.Attribute):
                        holder = inner.func.value
                        if isinstance(holder, ast.Name) and holder.id in ("self", "cls"):
                            called = f"{owner}.{inner.func.attr}"
                    if called:
                        reached.add(called)
            self._calls[name] = reached
            for line, message in wrong:
                if node.lineno <= line <= (node.end_lineno or node.lineno):
                    self.reasons.setdefault(name, Reason(message, f"{relative}:{line}"))

    def _spread(self) -> None:
        """What calls such a function is such a function; a class is one where its construction or its call is."""
        callers: dict[str, set[str]] = {}
        for name, reached in self._calls.items():
            for called in reached:
                callers.setdefault(self.canonical(called), set()).add(name)
        pending = list(self.reasons)
        while pending:
            name = pending.pop()
            reason = self.reasons[name]
            owner, _, last = name.rpartition(".")
            users = set(callers.get(name, ()))
            if last in _OF_A_CALL:
                users.add(owner)
            for user in users - self.reasons.keys():
                self.reasons[user] = Reason(
                    phrase("through {name}: {reason}", name=name, reason=reason.message), reason.place
                )
                pending.append(user)

    def canonical(self, name: str) -> str:
        """A name by where it is defined; the ``apply`` of an autograd function stands for its class."""
        return (self.index.reexport(name) or name).removesuffix(".apply")

    def reason(self, name: str) -> Reason | None:
        """Why what a project calls by this name cannot run on an NPU; None where nothing is known against it."""
        return self.reasons.get(name) or self.reasons.get(self.canonical(name))


def third_party_findings(files: Iterable[ProjectFile], packages: Sequence[Package]) -> list[Finding]:
    """The calls of a project's Python files that reach such functions."""
    names = {name for package in packages for name in package.names}
    words = [name.encode() for name in names]
    found: list[Finding] = []
    for file in files:
        try:
            raw = Path(file.location).read_bytes()
        except OSError:
            continue
        if not any(word in raw for word in words):
            continue
        source = _source(Path(file.location), file.relative)
        if source is None:
            continue
        found += _failing_imports(source, packages)
        calls: list[ast.Call] = []

        def keep(node: ast.AST, calls: list[ast.Call] = calls) -> None:
            if isinstance(node, ast.Call):
                calls.append(node)

        source.visit(range(1, len(source.text.line_starts) + 1), keep)
        for call in calls:
            name = source.qualname(call.func) or ""
            if name.partition(".")[0] not in names:
                continue
            reason = next((one for package in packages if (one := package.reason(name)) is not None), None)
            if reason is not None:
                message = phrase(
                    "{name} does not run on an NPU unchanged ({place}): {message}",
                    name=name,
                    place=reason.place,
                    message=reason.message,
                )
                found.append(_finding(call.func, name, message, source))
    return found


def _failing_imports(source: PythonSource, packages: Sequence[Package]) -> Iterator[Finding]:
    """Imports of packages that fail, one for each package; those that the code is ready to go on without are left."""
    told: set[str] = set()
    for statement in source.tree.body:
        for name in _imported(statement, source):
            top = name.partition(".")[0]
            reason = next((one for package in packages if (one := package.unimportable.get(name)) is not None), None)
            if reason is not None and top not in told:
                told.add(top)
                message = phrase(
                    "{name} cannot be imported on an NPU unchanged ({place}): {message}",
                    name=name,
                    place=reason.place,
                    message=reason.message,
                )
                yield _finding(statement, name, message, source)


def _imported(statement: ast.stmt, source: PythonSource) -> Iterator[str]:
    """The modules that an import may run, those above them included; names that are no modules do no harm."""
    if isinstance(statement, ast.Import):
        names = [alias.name for alias in statement.names]
    elif isinstance(statement, ast.ImportFrom):
        is_package = source.relative.rpartition("/")[2] == "__init__.py"
        module = absolute_module(statement, source.module, is_package)
        names = [module, *(f"{module}.{alias.name}" for alias in statement.names)]
    else:
        return
    for name in names:
        yield from (*_above(name), name)


def _above(name: str) -> Iterator[str]:
    """The packages that a module stands in, the outermost first."""
    parts = name.split(".")
    yield from (".".join(parts[:length]) for length in range(1, len(parts)))


def _stops(finding: Finding) -> bool:
    """Whether a finding is about what npuify cannot mend, and an NPU cannot do."""
    unmended = finding.severity is Severity.ERROR and not finding.edits
    return unmended and (belongs_to("unsupported", finding.code) or finding.code.startswith("NPU50"))


def _finding(node: ast.AST, name: str, message: str, source: PythonSource) -> Finding:
    start, end = source.start(node), source.end(node)
    return span_finding(
        RULE,
        source,
        (start, end),
        message,
        subject=name,
        advice="migrate the package as well, use a version made for NPUs, or compute this in another way",
    )


def _source(path: Path, relative: str, reexport: Callable[[str], str | None] | None = None) -> PythonSource | None:
    try:
        return PythonSource(relative, module_name(relative), path.read_bytes(), reexport=reexport)
    except (OSError, UnreadableText, SyntaxError):
        return None


def _functions(tree: ast.Module, module: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    """Every function with its qualified name and that of the class that it belongs to."""
    pending: list[tuple[ast.AST, str, str]] = [(tree, module, "")]
    while pending:
        node, name, owner = pending.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield f"{name}.{child.name}", child, owner
            elif isinstance(child, ast.ClassDef):
                pending.append((child, f"{name}.{child.name}", f"{name}.{child.name}"))
            elif isinstance(child, (ast.If, ast.Try, ast.With)):
                pending.append((child, name, owner))
