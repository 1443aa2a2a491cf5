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

from npuify.knowledge.forms import proof_of
from npuify.knowledge.hardware.tell import seen_lines
from npuify.language import documentation_in_language, mark, phrase
from npuify.model import Evidence, Explanation, RuleInfo, Safety, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from npuify.analysis.project import ProjectIndex
    from npuify.knowledge import Product
    from npuify.words import SkipIf

_CODE = re.compile(r"NPU\d{3}")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
HEADINGS = (mark("Before"), mark("After"))
"""What announces the examples in a docstring."""


class Rule(NamedTuple):
    """A registered rule.

    ``nodes`` are the node types that ``check`` takes; for all others see :func:`rule`, whose arguments they are.
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
    common_words: bool = False
    example_file: str = "program.py"
    """The name of a file that holds what stands under ``Before::``."""
    style: str = ""
    """That of its example, too."""
    place_on_npu: bool = False
    also_in_file: tuple[str, ...] = ()
    applies_to_chip: Callable[[Product | None], bool] | None = None
    skip_if: SkipIf | None = None
    without_torch: bool = False
    concerns: Callable[[bytes, ProjectIndex], bool] | None = None

    @property
    def documentation(self) -> str:
        """The check's docstring; what announces its examples is a text (``HEADINGS``)."""
        return inspect.cleandoc(self.check.__doc__ or "")

    @property
    def summary(self) -> str:
        """The first sentence of the documentation."""
        paragraph = self.documentation.partition("\n\n")[0].replace("\n", " ")
        return paragraph.strip()

    @property
    def info(self) -> RuleInfo:
        """The rule as a list of rules has it."""
        return RuleInfo(
            self.code,
            self.name,
            self.safety,
            self.severity,
            self.summary,
            self.documentation,
            self.evidence,
            self.source,
        )

    @property
    def explanation(self) -> Explanation:
        """What ``npuify explain`` says of the rule."""
        severity = phrase("severity {level}", level=phrase(self.severity.value))
        head = (
            phrase("no edit, {severity}", severity=severity)
            if self.safety is Safety.MANUAL
            else phrase("safe edits, {severity}", severity=severity)
            if self.safety is Safety.SAFE
            else phrase("edits to review, {severity}", severity=severity)
        )
        proof = (*proof_of(self.code), *seen_lines([f"forms/{self.code}/"]))
        text = (head, *documentation_in_language(self.documentation).splitlines(), *(("", *proof) if proof else ()))
        return Explanation(f"{self.code} {self.name}", "rule", text, (), self.source, self.evidence)

    def is_called(self, what: str) -> bool:
        """Whether this is the rule's code, in any case, or its name."""
        return what.upper() == self.code or what == self.name

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
    common_words: bool = False,
    style: str = "",
    place_on_npu: bool = False,
    also_in_file: tuple[str, ...] = (),
    applies_to_chip: Callable[[Product | None], bool] | None = None,
    skip_if: SkipIf | None = None,
    without_torch: bool = False,
    concerns: Callable[[bytes, ProjectIndex], bool] | None = None,
    evidence: Evidence = Evidence.PACKAGE,
    source: str = "torch_npu package",
) -> Callable[[Callable[[Any, Any], Iterator[Any]]], Callable[[Any, Any], Iterator[Any]]]:
    """Register a rule.

    Args:
        code: ``NPU`` and three digits; the hundreds give the area. Never used again for something else.
        name: names the problem, and reads well after "ignore".
        safety: of the edits that it makes; a finding may be less safe than its rule, never safer.
        severity: what happens on an NPU when nothing is done.
        words: the prefilter: the rule is given the nodes of those lines that hold one of these lower-case words, in any
            case. A file, or a function, without any rule's word is not parsed.
        also_in_file: a second prefilter: lower-case words of which one must stand anywhere in the file, too.
        common_words: its words are too common to parse a file for; it is asked in files that another rule's word
            makes worth parsing.
        names: what the qualified name of a name, attribute or call must begin with, or the attribute's own name
            whatever it belongs to; empty gives the rule all nodes of the lines.
        style: the only style in which it says anything; empty for all.
        place_on_npu: it says something only with ``--place-on-npu``.
        applies_to_chip: whether it says anything for the chip aimed at, which is None where any is; where not, its
            words are no reason to parse a file. None where that does not depend on the chip.
        skip_if: tells by the text around one of its words that it surely has nothing to say there; such a place is no
            reason to parse the function that holds it. See :mod:`npuify.rules.text_checks`.
        without_torch: its words, with ``also_in_file``, are a reason to parse a file that does not speak of torch.
        concerns: a third prefilter, for what the words do not tell: whether it may have anything to say in a file with
            this text, in this project. Where not, its words are no reason to parse anything.
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
            common_words,
            also_in_file=also_in_file,
            applies_to_chip=applies_to_chip,
            skip_if=skip_if,
            style=style,
            place_on_npu=place_on_npu,
            without_torch=without_torch,
            concerns=concerns,
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
