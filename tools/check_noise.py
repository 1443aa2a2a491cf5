"""Migrate whole projects and count the changed lines that were not needed.

    python tools/check_noise.py FOLDER…   [--unsafe] [--torch-npu VERSION] [--show N]

Each FOLDER is one project. The judge does not ask the rules: it compares the file before and after by tokens and trees.
A changed line was not needed where

* ``layout``: old and new have the same tokens, so only spaces or line breaks differ;
* ``prose``: all that changed is text which no code takes: a docstring, the message of an exception or of a log, the
  help of an option;
* ``import``: ``import torch_npu`` was added to a file whose code then names nothing of the NPU;
* ``twice``: a list, a table or a comparison now says the same twice, so that one of the two was there for the NPU;
* ``dead``: the line stands where the program never comes: under ``if False`` or ``if TYPE_CHECKING``.

Exit code 1 if there is any.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import io
import re
import sys
import tokenize
import warnings
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from npuify.options import Options
from npuify.rewrite.plan import plan
from npuify.source.text import Text

_NPU = re.compile(r"torch_npu|torch\.npu|\.npu\b|\.is_npu\b|\bnpu\b|hccl|HCCL", re.IGNORECASE)
_PROSE = frozenset(
    ("print", "warn", "warning", "info", "debug", "error", "exception", "critical", "log", "fail", "skip", "exit")
)
_LAYOUT = frozenset((tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT))


class Noise(NamedTuple):
    """One changed line that was not needed; ``line`` is that of the migrated file."""

    file: str
    line: int
    kind: str
    text: str


def noise_of(relative: str, old: str, new: str) -> tuple[int, list[Noise]]:
    """How many lines changed, and which of them without need."""
    before, after = old.splitlines(), new.splitlines()
    tree = ast.parse(new)
    prose, dead, doubled = _prose_lines(tree), _dead_lines(tree), _doubled_lines(tree, ast.parse(old))
    needs_import = _names_npu(tree)
    changed = 0
    found: list[Noise] = []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for tag, first, last, start, stop in matcher.get_opcodes():
        if tag == "equal":
            continue
        changed += max(last - first, stop - start)
        if _tokens("\n".join(before[first:last])) == _tokens("\n".join(after[start:stop])):
            found += [Noise(relative, line + 1, "layout", after[line]) for line in range(start, stop)]
            continue
        for line in range(start, stop):
            text = after[line]
            kind = ""
            if text.strip().startswith("import torch_npu") and not needs_import:
                kind = "import"
            elif line + 1 in dead:
                kind = "dead"
            elif line + 1 in doubled:
                kind = "twice"
            elif any(said not in old for said in prose.get(line + 1, ())):
                kind = "prose"
            if kind:
                found.append(Noise(relative, line + 1, kind, text))
    return changed, found


def _tokens(text: str) -> list[str]:
    try:
        read = tokenize.generate_tokens(io.StringIO(text).readline)
        return [token.string for token in read if token.type not in _LAYOUT]
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return text.split()


def _prose_lines(tree: ast.Module) -> dict[int, list[str]]:
    """Strings that people read, by line: docstrings, and the texts of messages and of help."""
    lines: dict[int, list[str]] = {}
    for node in ast.walk(tree):
        texts: list[ast.AST] = []
        if isinstance(node, ast.Expr):
            texts = [node.value]
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            texts = [*node.exc.args]
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            texts = [*node.args] if name in _PROSE else [item.value for item in node.keywords if item.arg == "help"]
        elif isinstance(node, ast.Assert) and node.msg is not None:
            texts = [node.msg]
        for text in texts:
            # An f-string may hold code, and then changes for it.
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                for line, said in enumerate(text.value.splitlines(), start=text.lineno):
                    lines.setdefault(line, []).append(said)
    return lines


def _dead_lines(tree: ast.Module) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If):
            test = ast.unparse(node.test)
            if test in ("False", "0"):
                for statement in node.body:
                    lines |= set(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
    return lines


def _doubled(tree: ast.Module) -> Counter[str]:
    return Counter(ast.unparse(node) for node in _doubles(tree))


def _doubles(tree: ast.Module) -> list[ast.expr]:
    found: list[ast.expr] = []
    for node in ast.walk(tree):
        parts: list[ast.expr] = []
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            parts = [item for item in node.elts if isinstance(item, ast.Constant)]
        elif isinstance(node, ast.Dict):
            parts = [key for key in node.keys if isinstance(key, ast.Constant)]
        elif isinstance(node, ast.BoolOp):
            parts = [*node.values]
        texts = [text for part in parts if _NPU.search(text := ast.unparse(part))]
        if len(set(texts)) < len(texts) and isinstance(node, ast.expr):
            found.append(node)
    return found


def _doubled_lines(tree: ast.Module, old: ast.Module) -> set[int]:
    """Lines of what says the same twice now, and did not before."""
    before = _doubled(old)
    return {node.lineno for node in _doubles(tree) if not before[ast.unparse(node)]}


def _names_npu(tree: ast.Module) -> bool:
    """Whether code, other than comparisons of text and imports of torch_npu, names something of the NPU."""
    imported = {
        id(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import) and all(alias.name.startswith("torch_npu") for alias in node.names)
    }
    compared = {
        id(item) for node in ast.walk(tree) if isinstance(node, ast.Compare) for item in [node.left, *node.comparators]
    }
    return any(_is_npu(node, imported, compared) for node in ast.walk(tree))


def _is_npu(node: ast.AST, imported: set[int], compared: set[int]) -> bool:
    if isinstance(node, ast.Constant):
        text = node.value if isinstance(node.value, str) and id(node) not in compared else ""
        return re.fullmatch(r"(?:\w+:\w+,)*(?:npu|hccl|HCCL)(?::.*)?", text) is not None
    if isinstance(node, ast.Attribute):
        return "npu" in node.attr.lower() or node.attr == "HCCL"
    if isinstance(node, ast.Name):
        return node.id == "torch_npu" and id(node) not in imported
    return isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torch_npu")


def check(folder: Path, options: Options) -> tuple[int, list[Noise]]:
    """Changed lines of one project, and those without need."""
    result, contents = plan(folder, options)
    root = Path(result.scan.root)
    changed = 0
    found: list[Noise] = []
    for relative, data in sorted(contents.items()):
        if not relative.endswith(".py"):
            continue
        lines, more = noise_of(relative, Text((root / relative).read_bytes()).string, Text(data).string)
        changed += lines
        found += more
    return changed, found


def main() -> int:
    """Count over the folders named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--unsafe", action="store_true")
    parser.add_argument("--torch-npu")
    parser.add_argument("--show", type=int, default=20, help="lines to show of each project")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    options = Options(jobs=1, cache=False, unsafe=arguments.unsafe, torch_npu=arguments.torch_npu)
    total, noisy = 0, Counter[str]()
    for folder in arguments.folders:
        changed, found = check(folder, options)
        kinds = Counter(one.kind for one in found)
        said = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())) or "none"
        print(f"{folder.name}: {changed} lines changed, not needed: {said}", flush=True)
        for one in found[: arguments.show]:
            print(f"  {one.file}:{one.line}: {one.kind}: {one.text.strip()[:110]}")
        total += changed
        noisy += kinds
    print(f"{len(arguments.folders)} projects, {total} lines changed, {sum(noisy.values())} not needed {dict(noisy)}")
    return 1 if noisy else 0


if __name__ == "__main__":
    sys.exit(main())
