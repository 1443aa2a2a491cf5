"""Apply a user's own rules to a Python file."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.analysis.project import module_name
from npuify.model import Edit, Evidence, Finding, Position, Safety, Severity
from npuify.rules.registry import Rule, list_rule
from npuify.source.python import PythonSource, dotted_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.analysis.project import ProjectIndex
    from npuify.rules.opt_ins import CustomRule


def _documentation(node: object, file: object) -> Iterator[object]:
    """A custom rule from the file given with ``--rules``.

    The file is npuify's TOML, or the JSON of the vendor's migration tool. Its edits are safe, unless the row says
    otherwise.
    """
    raise NotImplementedError("rules of the user are applied by their own module")


RULE = list_rule(
    Rule(
        "NPU750",
        "custom-rule",
        Safety.SAFE,
        Severity.WARNING,
        Evidence.ASSUMED,
        "the user's own rules file",
        (),
        (),
        _documentation,
    )
)


def may_concern(rules: Sequence[CustomRule], data: bytes) -> bool:
    """Whether a file can hold anything for these rules."""
    return any(rule.word.encode() in data for rule in rules)


def custom_findings(
    relative: str, raw: bytes, rules: Sequence[CustomRule], project: ProjectIndex, *, is_later_round: bool
) -> list[Finding]:
    """What the user's rules find in a file.

    Args:
        relative: the file's path in the project.
        raw: its bytes.
        rules: the rows; those whose word the file does not hold cost nothing.
        project: follows names into the project's other modules.
        is_later_round: edits of this run were applied to the file already. Taking out an argument by its place is done
            in the first round only: the next one would then stand there.

    Raises:
        SyntaxError, UnreadableText: as for :class:`npuify.source.python.PythonSource`.
    """
    chosen = [rule for rule in rules if rule.word.encode() in raw]
    if not chosen:
        return []
    source = PythonSource(relative, module_name(relative), raw, reexport=project.reexport)
    nodes: list[ast.AST] = []
    source.visit(range(1, len(source.text.line_starts) + 1), nodes.append)
    found: list[Finding] = []
    for rule in chosen:
        pass_over = is_later_round and rule.meaning == "argument" and rule.index >= 0 and not rule.value
        if not pass_over:
            found += _File(source, rule).findings(nodes)
    return found


class _File:
    def __init__(self, source: PythonSource, rule: CustomRule) -> None:
        self.source = source
        self.rule = rule

    def findings(self, nodes: Sequence[ast.AST]) -> Iterator[Finding]:
        look = {
            "call": self._call,
            "argument": self._argument,
            "module": self._member,
            "name": self._member,
        }[self.rule.meaning]
        for node in nodes:
            yield from look(node)

    # --- calls ---

    def _call(self, node: ast.AST) -> Iterator[Finding]:
        if isinstance(node, ast.ImportFrom):
            yield from self._import_from(node)
        elif isinstance(node, ast.Call):
            for function in _branches(node.func):
                if self._is_meant(function):
                    edits = self._renamed(function)
                    if edits != []:
                        yield self._report(function, edits)

    def _is_meant(self, function: ast.expr) -> bool:
        wanted = self.rule.name
        if "." in wanted:
            return wanted in self._names(function)
        if isinstance(function, ast.Attribute):
            return function.attr == wanted
        return isinstance(function, ast.Name) and function.id == wanted

    def _names(self, node: ast.expr) -> tuple[str | None, str | None]:
        """What a name or attribute denotes, and how it is written."""
        return self.source.qualname(node), dotted_text(node)

    def _renamed(self, function: ast.expr) -> list[Edit] | None:
        """Edits of a function's name; an empty list where nothing has to change."""
        new = self.rule.replacement
        if not new:
            return None
        if not self.rule.keeps_module:
            return self._replaced(function, new)
        if isinstance(function, ast.Name):
            if function.id != self.rule.word or (new != self.rule.word and self.source.code(function) == new):
                return []
            return self._replaced(function, new)
        if isinstance(function, ast.Attribute):
            if (dotted_text(function) or "").endswith(new) and "." in new:
                return []
            span = self.source.attribute_span(function)
            return [self._edit(*span, new)] if span is not None and function.attr != new else []
        return None

    def _replaced(self, node: ast.expr, new: str) -> list[Edit]:
        start, end = self.source.start(node), self.source.end(node)
        return [self._edit(start, end, new)] if self.source.segment(start, end) != new else []

    # --- names and modules ---

    def _member(self, node: ast.AST) -> Iterator[Finding]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from self._imported(alias, alias.name)
        elif isinstance(node, ast.ImportFrom):
            if node.module and not node.level and _within(node.module, self.rule.name):
                place = self._place_of_module(node)
                if place is not None and self.rule.replacement:
                    yield self._report(place, [self._edit(*place, self._moved(node.module))])
            else:
                yield from self._import_from(node)
        elif isinstance(node, (ast.Attribute, ast.Name)) and self.rule.name in self._names(node):
            if isinstance(node, ast.Name) and self.rule.name != node.id:
                # It is imported under this name, and the import changes.
                return
            if isinstance(node.ctx, ast.Load) and not self._is_bound_by_import(node):
                edits = self._replaced_chain(node) if self.rule.replacement else None
                if edits != []:
                    yield self._report(node, edits)

    def _is_bound_by_import(self, node: ast.expr) -> bool:
        """Whether a chain begins with a name that stands for a longer one, so that its import changes instead."""
        return isinstance(node, ast.Name) and "." in self.rule.name

    def _replaced_chain(self, node: ast.expr) -> list[Edit]:
        """The chain with its new name; only the last part changes where the parts before it are the same."""
        old, new = self.rule.name, self.rule.replacement
        if isinstance(node, ast.Attribute) and old.rpartition(".")[0] == new.rpartition(".")[0]:
            span = self.source.attribute_span(node)
            last = new.rpartition(".")[2]
            return [self._edit(*span, last)] if span is not None and node.attr != last else []
        return self._replaced(node, new)

    def _imported(self, alias: ast.alias, name: str) -> Iterator[Finding]:
        if not _within(name, self.rule.name):
            return
        start = self.source.start(alias)
        span = (start, start + len(name.encode()))
        if not self.rule.replacement:
            yield self._report(span, None)
        elif self.source.segment(*span) == name:
            yield self._report(span, [self._edit(*span, self._moved(name))])

    def _import_from(self, node: ast.ImportFrom) -> Iterator[Finding]:
        """``from module import name``: the name is imported by its new name, and goes on being called as it was."""
        if node.level or not node.module:
            return
        for alias in node.names:
            full = f"{node.module}.{alias.name}"
            is_qualified = "." in self.rule.name
            if full != self.rule.name and not (
                not is_qualified and self.rule.meaning == "call" and alias.name == self.rule.name
            ):
                continue
            start, end = self.source.start(alias), self.source.end(alias)
            new = self.rule.replacement
            if not new:
                yield self._report((start, end), None)
                continue
            module, _, last = new.rpartition(".")
            if self.rule.meaning == "call":
                # Calls of this name change with it.
                if alias.asname is None and "." not in new:
                    yield self._report((start, end), [self._edit(start, end, last)])
                elif alias.asname is not None and self.rule.keeps_module:
                    yield self._report((start, end), [self._edit(start, end, f"{last} as {alias.asname}")])
                continue
            bound = alias.asname or alias.name
            text = last if bound == last else f"{last} as {bound}"
            if module == node.module:
                yield self._report((start, end), [self._edit(start, end, text)])
            elif len(node.names) == 1:
                whole = (self.source.start(node), self.source.end(node))
                yield self._report(whole, [self._edit(*whole, f"from {module} import {text}")])
            else:
                yield self._report((start, end), None)

    def _moved(self, name: str) -> str:
        return self.rule.replacement + name[len(self.rule.name) :]

    def _place_of_module(self, node: ast.ImportFrom) -> tuple[int, int] | None:
        assert node.module is not None
        start, module = self.source.start(node), node.module.encode()
        place = self.source.data.find(module, start, self.source.end(node))
        if place < 0 or self.source.segment(start, place).split() != ["from"]:
            return None
        return place, place + len(module)

    # --- arguments ---

    def _argument(self, node: ast.AST) -> Iterator[Finding]:
        if not isinstance(node, ast.Call) or not self._takes_argument(node.func):
            return
        given: list[ast.expr | ast.keyword] = sorted(
            [*node.args, *node.keywords], key=lambda one: (one.lineno, one.col_offset)
        )
        target = self._target(given)
        if target is None:
            return
        start, end = self.source.start(target), self.source.end(target)
        text = self.source.segment(start, end)
        if any(re.search(pattern, text, re.IGNORECASE) for pattern in self.rule.unless):
            return
        if not self.rule.value:
            yield self._report((start, end), [self._without(given, target, node)])
            return
        value: ast.AST = target.value if isinstance(target, ast.keyword) else target
        new = self.rule.value
        if isinstance(target, ast.keyword):
            start = self.source.start(value)
        elif self.rule.keyword:
            new = f"{self.rule.keyword}={new}"
        if self.source.segment(start, end) != new:
            yield self._report((start, end), [self._edit(start, end, new)])

    def _takes_argument(self, function: ast.expr) -> bool:
        if self.rule.name in self._names(function):
            return True
        return isinstance(function, ast.Attribute) and function.attr == self.rule.name

    def _target(self, given: Sequence[ast.expr | ast.keyword]) -> ast.expr | ast.keyword | None:
        if self.rule.index >= 0:
            return given[self.rule.index] if self.rule.index < len(given) else None
        return next((one for one in given if isinstance(one, ast.keyword) and one.arg == self.rule.keyword), None)

    def _without(self, given: Sequence[ast.expr | ast.keyword], target: ast.expr | ast.keyword, call: ast.Call) -> Edit:
        """Takes an argument out, with its comma."""
        place = list(given).index(target)
        start, end = self.source.start(target), self.source.end(target)
        if place + 1 < len(given):
            end = self.source.start(given[place + 1])
        elif place:
            start = self.source.end(given[place - 1])
        else:
            rest = self.source.segment(end, self.source.end(call))
            comma = re.match(r"\s*,", rest)
            end += len(comma.group().encode()) if comma else 0
        return self._edit(start, end, "")

    # --- findings ---

    def _edit(self, start: int, end: int, after: str) -> Edit:
        return Edit(start, end, self.source.segment(start, end), after)

    def _report(self, place: ast.AST | tuple[int, int], edits: list[Edit] | None) -> Finding:
        rule, source = self.rule, self.source
        start, end = place if isinstance(place, tuple) else (source.start(place), source.end(place))
        return Finding(
            code=RULE.code,
            name=RULE.name,
            severity=rule.severity,
            safety=rule.safety if edits else Safety.MANUAL,
            file=source.relative,
            start=Position(*source.text.position(start)),
            end=Position(*source.text.position(end)),
            message=rule.message,
            evidence=rule.evidence,
            source=rule.source,
            subject=rule.name,
            advice=rule.advice,
            edits=tuple(edits or ()),
            needs_torch_npu=any("torch.npu" in edit.after or "torch_npu" in edit.after for edit in edits or ()),
        )


def _branches(function: ast.expr) -> Iterator[ast.expr]:
    """What may be called: a function, or either side of ``(one if condition else other)(…)``."""
    if isinstance(function, ast.IfExp):
        yield from _branches(function.body)
        yield from _branches(function.orelse)
    else:
        yield function


def _within(name: str, module: str) -> bool:
    return name == module or name.startswith(module + ".")
