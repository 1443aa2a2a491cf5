"""What a rule sees of a file: its source, the release aimed at, the project around it, and how to report."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from npuify.model import Edit, Evidence, Finding, Position, Safety, Severity
from npuify.rules.device_use import device_table_entry, looked_up_by_device
from npuify.rules.draft import Draft
from npuify.rules.helper_branches import only_on_npu
from npuify.rules.npu_support import prepared_for_npu
from npuify.styles import restyle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from npuify.analysis.project import ProjectIndex
    from npuify.knowledge import Product, ReleaseTable
    from npuify.rules.registry import Rule
    from npuify.source.python import PythonSource
    from npuify.source.scopes import Scope

_STRING_OPENING = re.compile(rb"[A-Za-z]{0,3}(\"\"\"|'''|\"|')")
_SAFETY_ORDER = {Safety.SAFE: 0, Safety.REVIEW: 1, Safety.MANUAL: 2}


class PythonFile:
    """One file under analysis.

    Attributes:
        source: the parsed file.
        release: names and facts of the torch_npu release aimed at.
        project: what is known of the project's other files.
        needs_torch_npu: earlier edits of this run put names into the file that exist only after
            ``import torch_npu``.
        rule: the rule that is running.
    """

    def __init__(
        self, source: PythonSource, release: ReleaseTable, project: ProjectIndex, *, needs_torch_npu: bool = False
    ) -> None:
        self.source = source
        self.release = release
        self.project = project
        self.needs_torch_npu = needs_torch_npu
        self.qualname: Callable[[ast.AST | None], str | None] = source.qualname
        """See :meth:`npuify.source.python.PythonSource.qualname`. Asked so often that a call more would show."""
        self.rule: Rule
        self.left_out: set[int] = set()
        """Ids of findings that say nothing in the style of the run."""
        self._memory: dict[Any, Any] = {}

    @property
    def product(self) -> Product | None:
        """The kind of chip aimed at; None where any is."""
        if not self.project.soc:
            return None
        from npuify.knowledge import products

        return products()[self.project.soc]

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

    def says(self, word: bytes) -> bool:
        """Whether a word stands anywhere in the file; looked for once, however often it is asked."""
        key = ("says", word)
        if key not in self._memory:
            self._memory[key] = word in self.source.data
        answer: bool = self._memory[key]
        return answer

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

    def _with_fitting_quotes(self, node: ast.AST, edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
        """Edits whose quotes are not those of the f-string around them, which Python before 3.12 could not read."""
        outer = next((up for up in (node, *self.ancestors(node)) if isinstance(up, ast.JoinedStr)), None)
        opening = _STRING_OPENING.match(self.source.data, self.source.start(outer)) if outer is not None else None
        if outer is node or opening is None or len(opening.group(1)) == 3:
            return edits
        quote = opening.group(1).decode()
        other = "'" if quote == '"' else '"'
        return tuple(
            Edit(edit.start, edit.end, edit.before, edit.after.replace(quote, other)) if quote in edit.after else edit
            for edit in edits
        )

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
    ) -> Finding:
        """A finding of the running rule about ``node``, or about a span of offsets.

        Without edits it is ``manual``; its safety is never better than the rule's.
        """
        rule = self.rule
        chosen = tuple(sorted(edits))
        treated = False
        if chosen and isinstance(node, ast.AST) and prepared_for_npu(node, self) and not self._is_half_written(node):
            treated = self._treated_by_style(node, chosen, subject)
            chosen = ()
            severity, message = Severity.INFO, f"{message}; left, since the code around it treats the NPU already"
            advice = "look whether the project's own support for the NPU is complete here"
            needs_torch_npu = False
        if chosen and isinstance(node, ast.AST):
            chosen = self._with_fitting_quotes(node, chosen)
        if chosen and isinstance(node, ast.AST) and safety is not Safety.REVIEW:
            # An entry of a device table changes as a whole, so its value is as safe as its key.
            entry = device_table_entry(node, self)
            if entry is not None and not looked_up_by_device(entry[1], self):
                safety = Safety.REVIEW
        if chosen and self.project.supports_npu:
            safety = Safety.REVIEW
        draft: Draft | None = Draft(
            rule.code, message, chosen, safety, severity or rule.severity, subject, advice, needs_torch_npu
        )
        if self.project.plan.style != "npu" and draft is not None:
            draft = restyle(draft, node, self)
            if draft is not None:
                chosen, message, advice, severity = draft.edits, draft.message, draft.advice, draft.severity
                needs_torch_npu, safety = draft.needs_torch_npu, draft.safety
        if treated:
            draft = None
        if not chosen:
            level = Safety.MANUAL
        else:
            level = max(safety or rule.safety, rule.safety, key=_SAFETY_ORDER.__getitem__)
        start, end = node if isinstance(node, tuple) else (self.source.start(node), self.source.end(node))
        position = self.source.text.position
        finding = Finding(
            code=rule.code,
            name=rule.name,
            severity=severity or rule.severity,
            safety=level,
            file=self.source.relative,
            start=Position(*position(start)),
            end=Position(*position(end)),
            message=message,
            evidence=evidence or rule.evidence,
            source=rule.source if source is None else source,
            subject=subject,
            advice=advice,
            edits=tuple(sorted(chosen)),
            needs_torch_npu=needs_torch_npu,
        )
        if draft is None:
            self.left_out.add(id(finding))
            self._memory["left out", id(finding)] = finding  # so that its id is not given to another
        return finding

    def _is_half_written(self, node: ast.AST) -> bool:
        """Whether code for the NPU was put beside that for CUDA in this run, and is to be migrated itself."""
        return self.project.plan.style == "portable" and only_on_npu(node, self)

    def _treated_by_style(self, node: ast.AST, edits: tuple[Edit, ...], subject: str) -> bool:
        """Whether code that names both devices is as the project's style writes it, so that nothing is left to say."""
        plan = self.project.plan
        if plan.style == "portable":
            if self.rule.code == "NPU701":
                # Both variables are set, one statement after the other.
                return any(edit.after.strip("\"'").encode() in self.source.data for edit in edits)
            statement = next((up for up in (node, *self.ancestors(node)) if isinstance(up, ast.stmt)), node)
            return f"{plan.helper}." in self.code(statement)
        if plan.style == "auto":
            rule = self.rule
            asked = Draft(rule.code, "", edits, None, rule.severity, subject, "", needs_torch_npu=False)
            both = isinstance(self.parent(node), (ast.Tuple, ast.List, ast.Set))
            return both or restyle(asked, node, self) is None
        return False
