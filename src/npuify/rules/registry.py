"""What a rule is, and how one is registered.

A rule is a function with the decorator :func:`rule`. The annotation of its first parameter says which nodes it wants,
``words`` which lines of a file it is interested in, and its docstring is its help, its documentation and its first
test: the code under ``Before::`` must become the code under ``After::``.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

from npuify.model import Evidence, Safety, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from npuify.knowledge import Product
    from npuify.words import Idle

_CODE = re.compile(r"NPU\d{3}")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class Rule(NamedTuple):
    """A registered rule.

    ``nodes`` are the node types that ``check`` wants; ``words`` are lower-case words, one of which a line must contain
    (in any case) for its nodes to be shown to the rule. ``names`` are what the qualified names of names, attributes and
    calls must begin with to be shown to it, or attributes whatever they belong to; empty means all. A rule that
    ``needs_cuda`` is asked only in files that another rule's word makes worth looking at; one with words ``beside``
    only in files that hold one of these, too.
    """

    code: str
    name: str
    safety: Safety
    severity: Severity
    evidence: Evidence
    source: str
    words: tuple[str, ...]
    nodes: tuple[type[ast.AST], ...]
    check: Callable[[Any, Any], Iterator[Any]]
    names: tuple[str, ...] = ()
    needs_cuda: bool = False
    example_file: str = "program.py"
    """The name of a file that holds what stands under ``Before::``."""
    style: str = ""
    """The only style in which it says anything, which is that of its example; empty for all."""
    placing: bool = False
    """Whether it says something only where programs are to be placed on the NPU."""
    beside: tuple[str, ...] = ()
    chip: Callable[[Product | None], bool] | None = None
    """Whether it says anything for the chip aimed at, None for any; None where that does not depend on the chip."""
    idle: Idle | None = None
    """Whether the text around one of its words says that it has nothing to say there."""

    @property
    def documentation(self) -> str:
        return inspect.cleandoc(self.check.__doc__ or "")

    @property
    def summary(self) -> str:
        """The first sentence of the documentation."""
        paragraph = self.documentation.partition("\n\n")[0].replace("\n", " ")
        return paragraph.strip()

    def example(self, heading: str) -> str | None:
        """The code under ``Before::`` or ``After::``, or None where there is none."""
        match = re.search(rf"^{heading}::\n\n((?:(?: {{4}}.*)?\n)+)", self.documentation + "\n", re.MULTILINE)
        return textwrap.dedent(match.group(1)).strip("\n") + "\n" if match else None


class RuleDefinitionError(TypeError):
    """A rule is written wrongly; the message names its file and line."""


_registry: dict[str, Rule] = {}


def rule(
    code: str,
    name: str,
    safety: Safety,
    severity: Severity = Severity.ERROR,
    *,
    words: tuple[str, ...],
    names: tuple[str, ...] = (),
    needs_cuda: bool = False,
    style: str = "",
    placing: bool = False,
    beside: tuple[str, ...] = (),
    chip: Callable[[Product | None], bool] | None = None,
    idle: Idle | None = None,
    evidence: Evidence = Evidence.PACKAGE,
    source: str = "torch_npu package",
) -> Callable[[Callable[[Any, Any], Iterator[Any]]], Callable[[Any, Any], Iterator[Any]]]:
    """Register a rule.

    Args:
        code: ``NPU`` and three digits; the hundreds give the area. Never used again for something else.
        name: names the problem, and reads well after "ignore".
        safety: of the edits that it makes; a finding may be less safe than its rule, never safer.
        severity: what happens on an NPU when nothing is done.
        words: lower-case words of which one must stand on a line.
        names: beginnings of qualified names, or attributes, that it is about; empty for all.
        needs_cuda: its words are too common to look at a file for; another rule's word has to be there, too.
        style: the only style in which it says anything.
        placing: it says something only with ``--place-on-npu``.
        beside: lower-case words of which one must stand anywhere in the file.
        chip: whether it says anything for the chip aimed at (None: for any); where not, its words are no reason to
            look at a file.
        idle: whether the text around one of its words says for certain that it has nothing to say there; such a place
            is no reason to parse what is around it. See :mod:`npuify.rules.text_checks`.
        evidence, source: how the fact behind the rule is known, unless a finding says it better.

    Raises:
        RuleDefinitionError: the code is taken, or the function's first annotation names no node types.
    """

    def register(check: Callable[[Any, Any], Iterator[Any]]) -> Callable[[Any, Any], Iterator[Any]]:
        place = f"{check.__code__.co_filename}:{check.__code__.co_firstlineno}"
        if not _CODE.fullmatch(code) or not _NAME.fullmatch(name):
            raise RuleDefinitionError(f"{place}: bad code or name: {code} {name}")
        if code in _registry:
            raise RuleDefinitionError(f"{place}: {code} is taken by {_registry[code].name}")
        if not check.__doc__:
            raise RuleDefinitionError(f"{place}: {code} has no docstring")
        _registry[code] = Rule(
            code,
            name,
            safety,
            severity,
            evidence,
            source,
            words,
            _node_types(check, place),
            check,
            names,
            needs_cuda,
            beside=beside,
            chip=chip,
            idle=idle,
            style=style,
            placing=placing,
        )
        return check

    return register


def registered() -> dict[str, Rule]:
    """The rules of the modules imported so far, by code."""
    return dict(_registry)


def list_rule(rule: Rule) -> Rule:
    """Put a rule into the list whose findings are made elsewhere, not by showing it nodes."""
    if rule.code in _registry:
        raise RuleDefinitionError(f"{rule.code} is taken by {_registry[rule.code].name}")
    _registry[rule.code] = rule
    return rule


def _node_types(check: Callable[[Any, Any], Iterator[Any]], place: str) -> tuple[type[ast.AST], ...]:
    parameters = check.__code__.co_varnames[: check.__code__.co_argcount]
    if len(parameters) != 2:
        raise RuleDefinitionError(f"{place}: a rule takes a node and a file")
    annotation = check.__annotations__.get(parameters[0], "")
    names = [part.strip() for part in str(annotation).split("|")]
    types = [getattr(ast, name[4:], None) for name in names if name.startswith("ast.")]
    if len(types) != len(names) or not types or not all(isinstance(kind, type) for kind in types):
        raise RuleDefinitionError(f"{place}: annotate {parameters[0]!r} with ast node types, not {annotation!r}")
    return tuple(kind for kind in types if kind is not None)
