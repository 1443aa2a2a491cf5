"""What a rule sees of a file: its source, the release aimed at, the project around it, and how to report."""

from __future__ import annotations

import ast
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

from npuify.analysis.engine import Reach
from npuify.analysis.files import FUNCTIONS, FileModel
from npuify.analysis.flow.destinations import Use
from npuify.analysis.values import MODELS, Kind
from npuify.language import phrase
from npuify.model import Edit, Evidence, Safety, Severity
from npuify.rules.diagnostic import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from npuify.analysis.files import Function
    from npuify.analysis.flow.destinations import Uses
    from npuify.analysis.model import ProgramModel
    from npuify.analysis.project import ProjectIndex
    from npuify.analysis.values import Place, Values
    from npuify.knowledge import Product
    from npuify.rules.run import Run
    from npuify.source.python import PythonSource
    from npuify.source.python.scopes import Scope


_DEVICE_OR_BACKEND = re.compile(r"cuda(?::\S*)?|nccl", re.IGNORECASE)


def _may_be_device(node: ast.expr) -> bool:
    """Whether an expression is a name of CUDA's or of its backend, and no text or package."""
    return not isinstance(node, ast.Constant) or _DEVICE_OR_BACKEND.fullmatch(str(node.value)) is not None


class PythonFile:
    """One file under analysis.

    Args:
        source: the parsed file.
        run: what the run is about.
        needs_torch_npu: earlier edits of this run put names into the file that exist only after
            ``import torch_npu``.
        is_stored: the text is what the project has on the disk, so that what is found out about it is for all to know.
    """

    def __init__(
        self, source: PythonSource, run: Run, *, needs_torch_npu: bool = False, is_stored: bool = False
    ) -> None:
        self.source = source
        self.run = run
        self.release = run.release
        """Names and facts of the torch_npu release aimed at."""
        self.project = run.project
        """What is known of the project's other files."""
        self.plan = run.plan
        """The style of the run."""
        self.needs_torch_npu = needs_torch_npu
        self.is_stored = is_stored
        self.qualname: Callable[[ast.AST | None], str | None] = source.qualname
        """See :meth:`npuify.source.python.PythonSource.qualname`. Asked so often that a call more would show."""
        self._memory: dict[Any, Any] = {}
        self._model: FileModel | None = None

    @classmethod
    def of_project(cls, relative: str, run: Run, *, is_stored: bool = True) -> PythonFile | None:
        """Another file of the project; None where it cannot be parsed."""
        model = run.project.model_of(relative)
        if model is None:
            return None
        file = cls(model.source, run, is_stored=is_stored)
        file._model = model
        return file

    def seen_in(self, project: ProjectIndex) -> PythonFile:
        """The same file, for a view of the project that notes for itself what is looked at."""
        file = PythonFile(self.source, self.run._replace(project=project), is_stored=self.is_stored)
        file._model = self.model
        return file

    @property
    def product(self) -> Product | None:
        """The kind of chip aimed at; None where any is."""
        return self.run.product

    @property
    def tensorflow(self) -> str:
        """The line of TensorFlow aimed at, ``1`` or ``2``; empty where the project leaves it open."""
        return self.run.tensorflow_at(self.source.relative)

    # --- the program model ---

    @property
    def model(self) -> FileModel:
        """The file as the program model sees it."""
        if self._model is None:
            self._model = FileModel(self.source)
        return self._model

    def values(self, node: ast.expr, reach: Reach = Reach.FILE) -> Values:
        """What an expression may stand for; mostly this file alone is asked."""
        return self.reaching(reach).values(node, self.model)

    def is_tensor(self, node: ast.expr) -> bool:
        """Whether an expression surely is a tensor."""
        return self.values(node).only(Kind.TENSOR)

    def is_torch_object(self, node: ast.expr) -> bool:
        """Whether an expression surely is a tensor or a module."""
        return self.values(node).only(Kind.TENSOR, *MODELS)

    def uses(self, node: ast.expr, reach: Reach = Reach.IMPORTS) -> Uses:
        """What the value of an expression is used for; other files are asked only where this one does not tell.

        Where nothing but names of the project's own says what it is, those that get it from this file are asked, too.
        """
        uses = self.reaching(Reach.FILE).uses(node, self.model, enough=True)
        if reach is Reach.FILE or (uses.is_told and not self.is_taken_by_own(node)):
            return uses
        further = self.reaching(Reach.IMPORTS).uses(node, self.model, enough=True)
        uses = further if further.destinations else uses
        goes_on = further.is_told_beyond or any(one.use is Use.OPTION for one in uses.destinations)
        if uses.is_told or not goes_on or not _may_be_device(node):
            return uses
        whole = self.reaching(Reach.PROGRAM).uses(node, self.model, enough=True)
        return whole if whole.is_told else uses

    def _call_of(self, node: ast.expr) -> ast.Call | None:
        """The call that an expression is an argument of."""
        parent = self.parent(node)
        call = self.parent(parent) if isinstance(parent, ast.keyword) else parent
        return call if isinstance(call, ast.Call) and node is not call.func else None

    def is_taken_by_own(self, node: ast.expr) -> bool:
        """Whether ``x.to("cuda")`` or ``f(device="cuda")`` calls what another file of the project defines."""
        call = self._call_of(node)
        name = self.qualname(call.func) if call is not None else None
        if call is None or (name is not None and not self.project.holds(name)):
            return False
        known = self.values(call.func)
        heirs = (one.of.name for one in known if one.of is not None and one.of.kind is Kind.HEIR)
        if name is None and known.is_known and not any(map(self.project.holds, heirs)):
            return False
        return any(value.definition is not None for value in self.values(call.func, Reach.IMPORTS))

    def tables(self, node: ast.expr) -> list[ast.Dict]:
        """The dictionaries, as this file writes them, that an expression may be."""
        places = [value.place for value in self.values(node).of_kind(Kind.CONTAINER) if value.name == "dict"]
        return [table for table in map(self._node_at, places) if isinstance(table, ast.Dict)]

    def function(self, node: ast.expr) -> Function | None:
        """The function of this file that an expression surely is."""
        sole = self.values(node).sole
        found = self._node_at(sole.definition) if sole is not None and sole.kind is Kind.FUNCTION else None
        return found if isinstance(found, FUNCTIONS) else None

    def _node_at(self, place: Place | None) -> ast.AST | None:
        return self.model.node_at(place) if place is not None and place.file == self.model.relative else None

    def assigned(self, node: ast.Name) -> list[ast.expr | None]:
        """What each binding of a name assigns to it, as it is written; None for a binding of another kind.

        What a name stands for, :meth:`values` tells; this is for what makes a difference only in how it is written.
        """
        found = self.model.scope(node).lookup(node.id)
        return [item.value if item.kind == "assign" else None for item in found[1]] if found is not None else []

    def denotes_device(self, node: ast.expr) -> bool:
        """Whether an expression denotes a device or its type, if only by its name."""
        return self.reaching(Reach.FILE).denotes_device(node, self.model)

    def looked_up_by_device(self, table: ast.Dict) -> bool:
        """Whether a table is looked up with a device's type."""
        return self.reaching(Reach.FILE).looked_up_by_device(table, self.model)

    def reaching(self, reach: Reach) -> ProgramModel:
        """The program model that looks so far."""
        return self.run.models.reaching(reach, self.project)

    # --- the tree ---

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self.source.parent(node)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        return self.source.ancestors(node)

    def scope(self, node: ast.AST) -> Scope:
        return self.source.scope_of(node)

    def code(self, node: ast.AST) -> str:
        return self.source.code(node)

    def nodes_on_lines_with(self, *words: str) -> list[ast.AST]:
        """Every node that covers a line on which one of the identifiers ``words`` stands, outer ones first."""
        key = ("nodes", *words)
        if key not in self._memory:
            found: list[ast.AST] = []
            self.source.visit(self.source.lines_with_names(words), found.append)
            self._memory[key] = found
        remembered: list[ast.AST] = self._memory[key]
        return remembered

    def contains(self, word: bytes) -> bool:
        """Whether a word stands anywhere in the file; looked for once, however often it is asked."""
        key = ("contains", word)
        if key not in self._memory:
            self._memory[key] = word in self.source.data
        answer: bool = self._memory[key]
        return answer

    @cached_property
    def framework(self) -> str:
        """The framework that the file's environment variables are for; see :func:`framework_in`."""
        from npuify.knowledge.frameworks.variables import framework_in

        return framework_in(self.source.data) or self._framework_around()

    def _framework_around(self) -> str:
        """TensorFlow, where the project computes with it and the file speaks of nothing else."""
        from npuify.knowledge.frameworks.variables import TENSORFLOW, uses_torch

        return TENSORFLOW if self.project.on_tensorflow and not uses_torch(self.source.data) else ""

    def remember(self, key: Any, value: Any) -> Any:
        """Keep ``value`` for other rules under ``key``."""
        self._memory[key] = value
        return value

    def recall(self, key: Any) -> Any:
        return self._memory.get(key)

    # --- edits ---

    def edit(self, start: int, end: int, after: str) -> Edit:
        return Edit(start, end, self.source.segment(start, end), after)

    def replace(self, node: ast.AST, after: str) -> Edit:
        """Put ``after`` in place of the whole node."""
        return self.edit(self.source.start(node), self.source.end(node), after)

    def rename_attribute(self, node: ast.Attribute, name: str) -> Edit | None:
        """Rename the last part of an attribute chain; None where its place cannot be found."""
        span = self.source.attribute_span(node)
        return self.edit(*span, name) if span else None

    def report(
        self,
        node: ast.AST | tuple[int, int],
        message: str,
        *,
        edits: Iterable[Edit] = (),
        safety: Safety | None = None,
        severity: Severity | None = None,
        evidence: Evidence | None = None,
        source: str | None = None,
        subject: str = "",
        advice: str = "",
        needs_torch_npu: bool = False,
        only_with: str = "",
    ) -> Diagnostic:
        """What the running rule says about ``node``, or about a span of offsets.

        Without edits it is left to a person; its safety is never better than the rule's.
        """
        return Diagnostic(
            place=node,
            message=phrase(message),
            edits=tuple(sorted(edits)),
            safety=safety,
            severity=severity,
            evidence=evidence,
            source=source,
            subject=subject,
            advice=phrase(advice),
            needs_torch_npu=needs_torch_npu,
            only_with=only_with,
        )
