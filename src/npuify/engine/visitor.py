"""Show the nodes of one file to the rules, and collect what they find."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.engine.ledger.spans import Span, settled_spans, suppressed_spans
from npuify.knowledge.third_party.python_names import gone_python_names
from npuify.rules.context import PythonFile
from npuify.source.suppressions import suppressed_codes
from npuify.styles.finish import finish

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.engine.ruleset import FileRules
    from npuify.model import Finding
    from npuify.rules.registry import Rule
    from npuify.rules.run import Run
    from npuify.source.python import PythonSource
    from npuify.words import Words

_FOLLOWED = (
    "torch.cuda",
    "torch.version",
    "torch.backends",
    "torch.distributions",
    "torch.profiler",
    "torch.autograd.profiler",
    "flash_attn",
    "xformers",
    "timm.data",
)
"""Modules whose names matter wherever they are used, under whatever name."""
_BY_WORD = frozenset(("torch", "torch.distributed"))
"""Modules of whose names only those matter that hold a rule's word."""
_LIBRARIES = (
    *("ffcv", "torch", "flash_attn", "xformers", "tensorflow", "keras", "horovod", "timm", "vllm"),
    *("ctypes", "ctranslate2", "faster_whisper", "whisperx"),
)
"""Packages whose names rules ask for."""
_FUNCTIONS = frozenset(("__import__", "float", "getattr", "hasattr", "import_module", "open", "patch", "setattr"))
"""Functions of Python whose calls rules ask for."""
_MEMBERS = frozenset(("major", "minor", "multi_processor_count", "warp_size", "is_integrated", "NCCL", "CUDA"))
"""Attributes that rules ask for although they hold none of the rules' words."""
_STRINGS = frozenset(("GPU", "gpu", "cu", "cud"))
"""Strings that rules ask for whole, and whose word, being in so many names, stands in quotes."""
_NAMES = (ast.Attribute, ast.Name, ast.Call)
_BINDING = frozenset((ast.ImportFrom, ast.Import, ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.Attribute))
"""Nodes that may bind names which are followed."""


class Findings(NamedTuple):
    """What the rules find in a file, in order of place, and where they had something to say that is settled already.

    ``file`` is the file as the rules saw it.
    """

    file: PythonFile
    findings: list[Finding]
    settled: list[Span]


def analyse(
    source: PythonSource, rules: FileRules, words: Words, run: Run, *, needs_torch_npu: bool = False
) -> Findings:
    """All findings of one file, in order of place, without those that a comment silences.

    A rule that fails on a file is a defect of ours; the exception goes to the caller, which reports the file
    and goes on.

    Args:
        source: the file.
        rules: those that it concerns.
        words: those of all rules of the run.
        run: what the run is about.
        needs_torch_npu: as :class:`npuify.rules.context.PythonFile` takes it.
    """
    file = PythonFile(source, run, needs_torch_npu=needs_torch_npu)
    by_node = rules.by_node
    settled: list[Span] = []
    findings = [
        finding
        for batch in _batches(source, file, rules.words, words)
        for node in batch
        if type(node) in by_node and _may_matter(node, file, words)
        for finding in _checked(node, by_node[type(node)], file, settled)
    ]
    if not findings:
        return Findings(file, findings, settled)
    findings.sort(key=lambda finding: (finding.start, finding.end, finding.code))
    silenced = suppressed_codes(source.text, source.tree)
    if silenced:
        settled += suppressed_spans([one for one in findings if silenced(one)], source.text)
        findings = [one for one in findings if not silenced(one)]
    return Findings(file, findings, settled)


def _batches(source: PythonSource, file: PythonFile, wanted: Words, words: Words) -> Iterator[list[ast.AST]]:
    """Each node on a line that holds one of the ``wanted`` words, then on those that use what such a line binds."""
    visited: set[ast.AST] = {source.tree}
    batch: list[ast.AST] = [source.tree]

    def collect(node: ast.AST) -> None:
        if node not in visited:
            visited.add(node)
            batch.append(node)

    source.visit(source.lines_with_words(wanted), collect)
    followed: set[str] = set()
    while batch:
        done, batch = batch, []
        fresh = _followed_names(file, done, words) - followed
        if fresh:
            followed |= fresh
            source.visit(source.lines_with_names(fresh), collect)
        yield done


def _checked(node: ast.AST, rules: Sequence[Rule], file: PythonFile, settled: list[Span]) -> Iterator[Finding]:
    """What the rules for nodes of this type find in one; what the style of the run settles goes to ``settled``."""
    name: str | None = None
    for rule in rules:
        if rule.names and isinstance(node, _NAMES):
            if name is None:
                name = _denoted(node, file)
            if not name.startswith(rule.names) and getattr(node, "attr", None) not in rule.names:
                continue
        for diagnostic in rule.check(node, file):
            finding = finish(diagnostic, rule, file)
            if finding is not None:
                yield finding
            else:
                settled += settled_spans(diagnostic, file)


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
        name = file.qualname(node) or ""
        return name.startswith("torch") or name in gone_python_names()
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and (
            node.value in _STRINGS or node.value.startswith("gpu:") or words.within(node.value)
        )
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
            return True
        return isinstance(node.func, ast.Attribute) or (file.qualname(node.func) or "").startswith(_LIBRARIES)
    return True


def _denoted(node: ast.AST, file: PythonFile) -> str:
    """The qualified name of a name or attribute, or of what a call calls; nothing where it is unknown."""
    if isinstance(node, ast.Call):
        return file.qualname(node.func) or ""
    return file.qualname(node) or ""


def _followed_names(file: PythonFile, nodes: list[ast.AST], words: Words) -> set[str]:
    """Local names bound on the lines seen to things that rules care about, whose uses carry no word of interest."""
    names = set()
    for node in nodes:
        if node.__class__ not in _BINDING:
            continue
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if module in _BY_WORD:
                # What is used as torch.nn is found by its words; as nn it is of no more interest.
                chosen = [alias for alias in node.names if words.within(f"{module}.{alias.name}(")]
                names |= {alias.asname or alias.name for alias in chosen}
            elif module.startswith("tensorflow") and not node.level:
                names |= {alias.asname for alias in node.names if alias.asname and words.within(alias.name)}
            elif module.startswith(_FOLLOWED):
                names |= {alias.asname or alias.name for alias in node.names if alias.name != "*"}
        elif isinstance(node, ast.Import):
            names |= {alias.asname for alias in node.names if alias.asname and alias.name.startswith(_FOLLOWED)}
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
            name = _bound_name(node.value, file)
            if name.startswith("torch.cuda"):
                bound = [_word(target) for target in (node.targets if isinstance(node, ast.Assign) else [node.target])]
                # Names of one letter stand on too many lines; only these are worth it.
                names |= {item for item in bound if len(item) > 1 or (item and name.endswith(_WORTH_IT))}
        elif isinstance(node, ast.Attribute) and node.attr in _WORTH_IT:
            parent = file.parent(node)
            if isinstance(parent, ast.arguments):
                names |= {arg.arg for arg, value in _defaults(parent) if value is node}
    return names


_WORTH_IT: Final = ("get_device_properties", "get_device_capability")
"""Functions whose results differ on an NPU, whatever they are called by."""


def _bound_name(value: ast.expr | None, file: PythonFile) -> str:
    """What a value is: a thing with a name, also one asked for by ``getattr``, or what a function returns."""
    name = file.qualname(value)
    if name is None and isinstance(value, ast.Call):
        name = file.qualname(value.func)
        if name is None and isinstance(value.func, ast.Name):
            # A parameter, whose default is what it stands for.
            return next((one.name for one in file.values(value.func) if one.name.endswith(_WORTH_IT)), "")
    return name or ""


def _word(target: ast.expr) -> str:
    if isinstance(target, ast.Attribute):
        return target.attr
    return target.id if isinstance(target, ast.Name) else ""


def _defaults(node: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    """The parameters that have a default, with it."""
    positional = [*node.posonlyargs, *node.args]
    yield from zip(positional[len(positional) - len(node.defaults) :], node.defaults, strict=True)
    yield from zip(node.kwonlyargs, node.kw_defaults, strict=True)
