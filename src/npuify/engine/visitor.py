"""Show the nodes of one file to the rules, and collect what they find."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from npuify.analysis.project import OWN_CUDA_WORDS
from npuify.engine.catalog import all_rules
from npuify.knowledge import products
from npuify.project.traces import IMPORT_WORDS
from npuify.rules.context import PythonFile
from npuify.rules.npu_support import SUPPORT_WORDS
from npuify.rules.selection import Selection
from npuify.source.suppressions import suppressed_codes
from npuify.styles.finish import finish
from npuify.words import Words, together

if TYPE_CHECKING:
    from collections.abc import Iterable

    from npuify.model import Finding
    from npuify.rules.registry import Rule
    from npuify.rules.run import Run
    from npuify.source.python import PythonSource
    from npuify.words import Idle

_FOLLOWED = (
    "torch.cuda",
    "torch.backends",
    "torch.profiler",
    "torch.autograd.profiler",
    "flash_attn",
    "xformers",
)
"""Modules whose names matter wherever they are used, under whatever name."""
_BY_WORD = frozenset(("torch", "torch.distributed"))
"""Modules of whose names only those matter that hold a rule's word."""
_LIBRARIES = ("torch", "flash_attn", "xformers")
"""Packages whose names rules ask for."""


_WITHOUT_TORCH = (
    *(b"cuda", b"nccl", b"nvidia_", b"nvte_", b"cublas", b"cudnn", b"device-side assert", b"nvidia-smi"),
    *(b"flash_attn", b"xformers"),
)
"""Words that matter also in a file that does not speak of torch."""


def _with_words(rule: Rule) -> tuple[Rule, frozenset[bytes], frozenset[bytes]]:
    return rule, frozenset(map(str.encode, rule.words)), frozenset(map(str.encode, rule.beside))


class RuleSet:
    """The rules that run, prepared for use on many files.

    Args:
        selection: which of all rules.
        style: that of the run; rules of other styles have nothing to say.
        placing: whether programs are to be placed on the NPU.
        soc: the kind of chip aimed at, as :class:`ProjectIndex` takes it.

    Attributes:
        words: those that the rules look for.
        imports, own_cuda, support: those that a scan looks for besides, in the same pass.
    """

    def __init__(self, selection: Selection, style: str = "npu", *, placing: bool = False, soc: str = "") -> None:
        product = products()[soc] if soc else None
        of_style = [
            rule for rule in all_rules().values() if rule.style in ("", style) and (placing or not rule.placing)
        ]
        fitting = [rule for rule in of_style if rule.chip is None or rule.chip(product)]
        self.rules = [rule for rule in fitting if selection.has(rule)]
        self.codes = frozenset(rule.code for rule in self.rules)
        self._asking = [_with_words(rule) for rule in self.rules]
        reasons = [one for one in self._asking if not one[0].needs_cuda]
        if len(reasons) < len(self._asking):
            # What makes a file worth looking at for these does not depend on which other rules speak.
            reasons = [_with_words(rule) for rule in of_style if not rule.needs_cuda]
        own = (word for _, words, beside in (*self._asking, *reasons) for word in (*words, *beside))
        self.words, self.imports, self.own_cuda, self.support = together(
            own, IMPORT_WORDS, OWN_CUDA_WORDS, SUPPORT_WORDS
        )
        self._reasons = frozenset(word for _, words, beside in reasons if not beside for word in words)
        self._joint_reasons = [(words, beside) for _, words, beside in reasons if beside]
        self._plain = frozenset(word for word in self._reasons if any(part in word for part in _WITHOUT_TORCH))
        self._idle = _idle_words(self._asking)
        self._by_word: dict[bytes, list[int]] = {}
        for place, (_, words, _) in enumerate(self._asking):
            for word in words:
                self._by_word.setdefault(word, []).append(place)
        self._wordless = {place for place, (_, words, _) in enumerate(self._asking) if not words}
        self._interests: dict[frozenset[bytes], Interest] = {}
        # Rules look at other functions than the one in which they find something, so that what is parsed must not
        # depend on which rules were chosen.
        chosen = len(self.rules) < len(fitting)
        self._all = RuleSet(Selection(), style, placing=placing, soc=soc) if chosen else None

    def may_concern(self, lower: bytes) -> bool:
        """Whether a file with these bytes, turned to lower case, can hold anything for these rules."""
        there = self.words.in_text(lower)
        if not there or not there.isdisjoint(self._plain):
            return bool(there)
        counts = not there.isdisjoint(self._reasons) or any(
            not there.isdisjoint(words) and not there.isdisjoint(beside) for words, beside in self._joint_reasons
        )
        if not counts or b"torch" not in lower:
            return False
        words = self.interest(lower).words
        return not words.words.issubset(self._idle) or bool(words.places(lower))

    def interest(self, lower: bytes) -> Interest:
        """What these rules want of a file with these bytes, turned to lower case."""
        there = self.words.in_text(lower)
        if there not in self._interests:
            self._interests[there] = self._interest(there)
        return self._interests[there]

    def parsed_for(self, lower: bytes, interest: Interest) -> Words:
        """Words of which one stands in each part of a file that has to be parsed; ``interest`` is that in this file."""
        return interest.words if self._all is None else self._all.interest(lower).words

    def _interest(self, there: frozenset[bytes]) -> Interest:
        by_node: dict[type[ast.AST], list[Rule]] = {}
        wanted: set[bytes] = set()
        # Of more than a hundred rules a file's words concern some.
        places = sorted({place for word in there for place in self._by_word.get(word, ())} | self._wordless)
        for rule, words, beside in (self._asking[place] for place in places):
            if beside and there.isdisjoint(beside):
                continue
            wanted |= words
            for node in rule.nodes:
                by_node.setdefault(node, []).append(rule)
        return Interest(by_node, Words(there & wanted, of=self.words, idle=self._idle))


def _idle_words(asking: Iterable[tuple[Rule, frozenset[bytes], frozenset[bytes]]]) -> dict[bytes, Idle]:
    """For each word that no rule cares for at every place: whether none has anything to say at one."""
    tests: dict[bytes, set[Idle | None]] = {}
    for rule, words, _ in asking:
        for word in words:
            tests.setdefault(word, set()).add(rule.idle)
    # Where several rules share a word, telling what all of them think is not worth it.
    return {word: test for word, (test, *more) in tests.items() if test is not None and not more}


class Interest(NamedTuple):
    """What the rules want of files that hold certain words.

    ``by_node`` are the rules for each node type, ``words`` those on whose lines they look.
    """

    by_node: dict[type[ast.AST], list[Rule]]
    words: Words


def analyse(
    source: PythonSource,
    rules: RuleSet,
    run: Run,
    interest: Interest | None = None,
    *,
    needs_torch_npu: bool = False,
) -> list[Finding]:
    """All findings of one file, in order of place, without those that a comment silences.

    A rule that fails on a file is a defect of ours; the exception goes to the caller, which reports the file
    and goes on.
    """
    file = PythonFile(source, run, needs_torch_npu=needs_torch_npu)
    project, release = run.project, run.release
    source.reexport = project.reexport
    source.class_named = project.class_named
    # Nothing that the source holds may hold the file: such a ring would keep the trees of all files alive.
    source.star_has = lambda name: (
        release.counterpart(name) is not None if name.startswith("torch.") else project.provides(name)
    )
    findings: list[Finding] = []
    shown: set[ast.AST] = set()
    pending: list[ast.AST] = []
    if interest is None:
        interest = rules.interest(source.text.lower)
    by_node = interest.by_node

    def collect(node: ast.AST) -> None:
        if node not in shown:
            shown.add(node)
            pending.append(node)

    collect(source.tree)
    source.visit(source.lines_with_words(interest.words), collect)
    aliases: set[str] = set()
    while pending:
        batch, pending[:] = list(pending), []
        fresh = _followed_names(file, batch, rules.words) - aliases
        if fresh:
            aliases |= fresh
            source.visit(source.lines_with_names(fresh), collect)
        for node in batch:
            interested = by_node.get(type(node))
            if interested is not None and _may_matter(node, file, rules.words):
                name: str | None = None
                for rule in interested:
                    if rule.names and isinstance(node, _NAMES):
                        if name is None:
                            name = _denoted(node, file)
                        if not name.startswith(rule.names) and getattr(node, "attr", None) not in rule.names:
                            continue
                    for diagnostic in rule.check(node, file):
                        finding = finish(diagnostic, rule, file)
                        if finding is not None:
                            findings.append(finding)
    if not findings:
        return findings
    findings.sort(key=lambda finding: (finding.start, finding.end, finding.code))
    silenced = suppressed_codes(source.text, source.tree)
    return [finding for finding in findings if not silenced(finding)] if silenced else findings


_MEMBERS = frozenset(("major", "minor", "multi_processor_count", "warp_size", "is_integrated", "NCCL", "CUDA"))
"""Attributes that rules ask for although they hold none of the rules' words."""


_STRINGS = frozenset(("GPU", "gpu"))
"""Strings that rules ask for whole, and whose word, being in so many names, stands in quotes."""


def _may_matter(node: ast.AST, file: PythonFile, words: Words) -> bool:
    """Whether any rule can find something in a node: sorts most of them out before the rules are asked one by one.

    A string matters by its text; a name, attribute or call by being torch's, or by a word in it.
    """
    kind = type(node)
    if kind is ast.Name:
        return (file.qualname(node) or "").startswith("torch")
    if isinstance(node, ast.Attribute):
        if node.attr in _MEMBERS or words.within(node.attr):
            return True
        return (file.qualname(node) or "").startswith("torch")
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and (node.value in _STRINGS or words.within(node.value))
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr", "patch", "setattr"):
            return True
        return isinstance(node.func, ast.Attribute) or (file.qualname(node.func) or "").startswith(_LIBRARIES)
    return True


_NAMES = (ast.Attribute, ast.Name, ast.Call)


def _denoted(node: ast.AST, file: PythonFile) -> str:
    """The qualified name of a name or attribute, or of what a call calls; nothing where it is unknown."""
    if isinstance(node, ast.Call):
        return file.qualname(node.func) or ""
    return file.qualname(node) or ""


def _followed_names(file: PythonFile, nodes: list[ast.AST], words: Words) -> set[str]:
    """Local names bound on the lines seen to things that rules care about, whose uses carry no word of interest."""
    names = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if module in _BY_WORD:
                # What is used as torch.nn is found by its words; as nn it is of no more interest.
                chosen = [alias for alias in node.names if words.within(f"{module}.{alias.name}(")]
                names |= {alias.asname or alias.name for alias in chosen}
            elif module.startswith(_FOLLOWED):
                names |= {alias.asname or alias.name for alias in node.names if alias.name != "*"}
        elif isinstance(node, ast.Import):
            names |= {alias.asname for alias in node.names if alias.asname and alias.name.startswith(_FOLLOWED)}
        elif isinstance(node, ast.Assign) and isinstance(node.value, (ast.Attribute, ast.Call)):
            value = node.value.func if isinstance(node.value, ast.Call) else node.value
            name = file.qualname(value) or ""
            if name.startswith("torch.cuda"):
                targets = [target for target in node.targets if isinstance(target, (ast.Name, ast.Attribute))]
                bound = [target.id if isinstance(target, ast.Name) else target.attr for target in targets]
                # Names of one letter stand on too many lines; only properties are worth it.
                names |= {item for item in bound if len(item) > 1 or name.endswith("get_device_properties")}
    return names
