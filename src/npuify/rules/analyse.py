"""Show the nodes of one file to the rules, and collect what they find."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.rules.base import Rule, Selection, all_rules
from npuify.rules.context import PythonFile
from npuify.source.suppressions import suppressed_codes

if TYPE_CHECKING:
    from npuify.model import Finding
    from npuify.rules.project_index import ProjectIndex
    from npuify.source.python import PythonSource

_FOLLOWED = (
    "torch.cuda",
    "torch.backends",
    "torch.profiler",
    "torch.autograd.profiler",
    "torch.distributed",
    "flash_attn",
    "xformers",
)
_LIBRARIES = ("torch", "flash_attn", "xformers")
"""Packages whose names rules ask for."""


_WITHOUT_TORCH = frozenset(
    (b"cuda", b"nccl", b"nvidia_", b"nvte_", b"cublas", b"cudnn", b"device-side assert", b"flash_attn", b"xformers")
)
"""Words that matter also in a file that does not speak of torch."""


class RuleSet:
    """The rules that run, prepared for use on many files."""

    def __init__(self, selection: Selection) -> None:
        self.rules = [rule for rule in all_rules().values() if selection.has(rule)]
        self.codes = frozenset(rule.code for rule in self.rules)
        self.by_node: dict[type[ast.AST], list[Rule]] = {}
        for rule in self.rules:
            for node in rule.nodes:
                self.by_node.setdefault(node, []).append(rule)
        words = sorted({word for rule in self.rules for word in rule.words})
        # A word that contains another is found with it.
        self.words = [word for word in words if not any(other != word and other in word for other in words)]
        self._short = [word.encode() for word in self.words]
        self._longer = [
            (word.encode(), tuple(short for short in self._short if short in word.encode()))
            for word in words
            if word not in self.words
        ]
        alone = {word for rule in self.rules if not rule.needs_cuda for word in rule.words}
        self._alone = sorted(word.encode() for word in alone if not any(o != word and o in word for o in alone))
        self._plain = [word for word in self._alone if word in _WITHOUT_TORCH]
        self._active: dict[frozenset[bytes], dict[type[ast.AST], list[Rule]]] = {}

    def may_concern(self, lower: bytes) -> bool:
        """Whether a file with these bytes, turned to lower case, can hold anything for these rules."""
        words = self._alone if b"torch" in lower else self._plain
        return any(word in lower for word in words)

    def words_in(self, data: bytes) -> frozenset[bytes]:
        """The words of these rules that a file holds, in any case."""
        lower = data.lower()
        short = [word for word in self._short if word in lower]
        longer = [word for word, parts in self._longer if any(part in short for part in parts) and word in lower]
        return frozenset((*short, *longer))

    def shortest(self, words: frozenset[bytes]) -> list[bytes]:
        """Those of ``words`` on whose lines all the others stand as well."""
        return [word for word in self._short if word in words]

    def pattern(self, words: frozenset[bytes]) -> re.Pattern[str]:
        """Finds one of ``words``, in any case."""
        shortest = self.shortest(words)
        return re.compile("|".join(re.escape(word.decode()) for word in shortest) or "(?!)", re.IGNORECASE)

    def active(self, there: frozenset[bytes]) -> dict[type[ast.AST], list[Rule]]:
        """The rules for each node type, only those of which the file holds a word (or that ask for none)."""
        if there not in self._active:
            words = {word.decode() for word in there}
            self._active[there] = {
                node: chosen
                for node, rules in self.by_node.items()
                if (chosen := [rule for rule in rules if not rule.words or not words.isdisjoint(rule.words)])
            }
        return self._active[there]


def analyse(
    source: PythonSource,
    rules: RuleSet,
    release: object,
    project: ProjectIndex,
    *,
    needs_torch_npu: bool = False,
    words: frozenset[bytes] | None = None,
) -> list[Finding]:
    """All findings of one file, in order of place, without those that a comment silences.

    A rule that fails on a file is a defect of ours; the exception goes to the caller, which reports the file
    and goes on.
    """
    file = PythonFile(source, release, project, needs_torch_npu=needs_torch_npu)  # type: ignore[arg-type]
    source.reexport = project.reexport
    source.class_named = project.class_named
    source.star_has = lambda name: (
        file.release.counterpart(name) is not None if name.startswith("torch.") else project.provides(name)
    )
    findings: list[Finding] = []
    shown: set[ast.AST] = set()
    pending: list[ast.AST] = []
    if words is None:
        words = rules.words_in(source.data)
    by_node = rules.active(words)
    short = rules.pattern(words)

    def collect(node: ast.AST) -> None:
        if node not in shown:
            shown.add(node)
            pending.append(node)

    collect(source.tree)
    source.visit(source.lines_with_words(rules.shortest(words)), collect)
    aliases: set[str] = set()
    while pending:
        batch, pending[:] = list(pending), []
        fresh = _followed_names(file, batch) - aliases
        if fresh:
            aliases |= fresh
            source.visit(source.lines_with_names(fresh), collect)
        for node in batch:
            interested = by_node.get(type(node))
            if interested is not None and _may_matter(node, file, short):
                for rule in interested:
                    if rule.names and not _named(node, rule, file):
                        continue
                    file.rule = rule
                    findings.extend(rule.check(node, file))
    if file.left_out:
        findings = [finding for finding in findings if id(finding) not in file.left_out]
    findings.sort(key=lambda finding: (finding.start, finding.end, finding.code))
    silenced = suppressed_codes(source.text, source.tree)
    return [finding for finding in findings if not silenced(finding)] if silenced else findings


_MEMBERS = frozenset(("major", "minor", "multi_processor_count", "warp_size", "is_integrated", "NCCL", "CUDA"))
"""Attributes that rules ask for although they hold none of the rules' words."""


def _may_matter(node: ast.AST, file: PythonFile, words: re.Pattern[str]) -> bool:
    """Whether any rule can find something in a node: sorts most of them out before the rules are asked one by one.

    A string matters by its text; a name, attribute or call by being torch's, or by a word in it.
    """
    if isinstance(node, ast.Constant):
        if not isinstance(node.value, str):
            return False
        return words.search(node.value) is not None
    if isinstance(node, ast.Attribute):
        if node.attr in _MEMBERS or words.search(node.attr) is not None:
            return True
        return (file.qualname(node) or "").startswith("torch")
    if isinstance(node, ast.Name):
        return (file.qualname(node) or "").startswith("torch")
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr", "patch", "setattr"):
            return True
        return isinstance(node.func, ast.Attribute) or (file.qualname(node.func) or "").startswith(_LIBRARIES)
    return True


def _named(node: ast.AST, rule: Rule, file: PythonFile) -> bool:
    """Whether a name, attribute or call is of those that the rule is about; other nodes always are."""
    if isinstance(node, ast.Attribute) and node.attr in rule.names:
        return True
    if isinstance(node, (ast.Attribute, ast.Name)):
        return (file.qualname(node) or "").startswith(rule.names)
    if isinstance(node, ast.Call):
        return (file.qualname(node.func) or "").startswith(rule.names)
    return True


def _followed_names(file: PythonFile, nodes: list[ast.AST]) -> set[str]:
    """Local names bound on the lines seen to things that rules care about, whose uses carry no word of interest."""
    names = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if module == "torch" or module.startswith(_FOLLOWED):
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
