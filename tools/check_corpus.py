"""Migrate whole projects and check what must hold for every one of them.

    python tools/check_corpus.py FOLDER…   [--unsafe] [--torch-npu VERSION] [--style STYLE] [--place-on-npu]

Each FOLDER is one project. For every Python file that a migration changes: it still parses; a second run changes
nothing; line ends, encoding and final newline are as before; a line that changed holds a change that is listed; and
each NPU name that the migration brought in exists in the release aimed at. In the portable style, each file finds the
helper module that it imports. Exit code 1 if anything fails.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import itertools
import re
import sys
import time
import warnings
from collections import Counter
from pathlib import Path, PurePosixPath

from npuify import knowledge
from npuify.engine.catalog import checked_selection
from npuify.engine.prepare import prepare
from npuify.engine.worker import Worker
from npuify.options import STYLES, Options
from npuify.rewrite.plan import plan
from npuify.source.text import Text

NPU_NAME = re.compile(r"\b(?:torch\.npu|torch_npu)(?:\.\w+)+")


def check(folder: Path, options: Options) -> tuple[list[str], str]:
    """What fails in one project, and a line of numbers about it."""
    started = time.process_time()
    result, contents = plan(folder, options)
    spent = time.process_time() - started
    release = knowledge.load(result.scan.release.torch_npu)
    work = prepare([folder], options)
    worker = Worker(work.release.torch_npu, checked_selection(options), work.project)
    root = Path(result.scan.root)
    problems = [
        f"{error.file}:{error.line}: {error.message}"
        for error in result.scan.errors
        if "npuify failed" in error.message or "left as it is" in error.message
    ]
    changed_lines = 0
    places = {
        (change.file, line) for change in result.changes for line in range(change.start.line, change.end.line + 1)
    }
    for relative, new in contents.items():
        if not relative.endswith(".py"):
            continue
        if not (root / relative).exists():
            continue  # the portable style's helper
        old = (root / relative).read_bytes()
        changed_lines += check_file(relative, old, new, release, places, problems)
        again, _, _, _ = worker.analyse(relative, new)
        again_edits = [finding for finding in again if finding.edits and finding.safety.value == "safe"]
        if again_edits:
            problems.append(f"{relative}:{again_edits[0].start.line}: a second run would apply {again_edits[0].code}")
    if options.style == "portable":
        problems += helpers_not_found(contents, root, work.plan.helper)
    codes = Counter(change.code for change in result.changes)
    left = Counter(finding.severity.value for finding in result.left)
    summary = (
        f"{folder.name}: {result.scan.files_seen} files, {result.scan.files_parsed} parsed, {len(contents)} changed, "
        f"{changed_lines} lines, {len(result.changes)} changes, left {dict(left)}, {len(result.scan.errors)} errors, "
        f"{spent:.1f} s CPU | " + " ".join(f"{code}:{count}" for code, count in sorted(codes.items()))
    )
    return problems, summary


def helpers_not_found(contents: dict[str, bytes], root: Path, helper: str) -> list[str]:
    """The files whose import of the helper module leads nowhere, judged by where Python looks."""

    def is_there(relative: str) -> bool:
        return relative in contents or (root / relative).exists()

    problems = []
    for relative, raw in contents.items():
        if not relative.endswith(".py") or relative.rpartition("/")[2] == f"{helper}.py":
            continue
        folder = relative.rpartition("/")[0]
        around = [folder, *(parent.as_posix() for parent in PurePosixPath(folder).parents)] if folder else [""]
        around = ["" if one == "." else one for one in around]
        tree = ast.parse(Text(raw).string)
        neighbours = _imported(tree) - {helper}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                module = (node.module or "").replace(".", "/")
                if helper not in (*(alias.name for alias in node.names), module.rpartition("/")[2]):
                    continue
                path = module if module.rpartition("/")[2] == helper else f"{module}/{helper}"
                bases = [around[node.level - 1]] if node.level else [*around, "src", "lib", "python"]
            elif isinstance(node, ast.Import) and any(alias.name == helper for alias in node.names):
                path = helper
                # A folder of a package is searched for its own script only, and none around it is.
                outside = itertools.takewhile(lambda one: not is_there(f"{one}/__init__.py".lstrip("/")), around)
                # Where the file finds another module of the project, whatever it did for that, it finds this one.
                shown = [one for one in around if any(is_there(f"{one}/{name}.py".lstrip("/")) for name in neighbours)]
                bases = [folder, *outside, *shown, *(one for one in around if _is_started_from(root, one, relative))]
            else:
                continue
            if not any(is_there(f"{base}/{path}.py".replace("//", "/").lstrip("/")) for base in bases):
                problems.append(f"{relative}:{node.lineno}: {helper} is not where this import looks")
    return problems


def _is_started_from(root: Path, folder: str, relative: str) -> bool:
    """Whether a file in ``folder`` imports the one at ``relative`` by its path from there, as a script there can."""
    name = relative[len(folder) :].strip("/").removesuffix(".py").replace("/", ".").encode()
    statement = re.compile(rb"^\s*(?:from|import)\s+" + re.escape(name) + rb"\b", re.MULTILINE)
    return b"." in name and any(statement.search(file.read_bytes()) for file in (root / folder).glob("*.py"))


def _imported(tree: ast.Module) -> set[str]:
    """The modules in no package that a file imports."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
    return {name for name in names if "." not in name}


def check_file(
    relative: str,
    old: bytes,
    new: bytes,
    release: knowledge.ReleaseTable,
    places: set[tuple[str, int]],
    problems: list[str],
) -> int:
    """Check one changed file; returns how many of its lines changed."""
    before, after = Text(old), Text(new)
    try:
        ast.parse(after.string)
    except SyntaxError as error:
        problems.append(f"{relative}:{error.lineno}: does not parse any more: {error.msg}")
    if (before.encoding, before.has_bom) != (after.encoding, after.has_bom):
        problems.append(f"{relative}: the encoding changed")
    if old.endswith((b"\n", b"\r")) != new.endswith((b"\n", b"\r")):
        problems.append(f"{relative}: the end of the last line changed")
    for end in (b"\r\n", b"\r"):
        if (end in old) != (end in new):
            problems.append(f"{relative}: line ends changed")
    old_lines, new_lines = before.string.splitlines(), after.string.splitlines()
    changed = 0
    for tag, start, stop, _, _ in difflib.SequenceMatcher(None, old_lines, new_lines, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        changed += max(stop - start, 1)
        for line in range(start + 1, stop + 1):
            if (relative, line) not in places and (relative, line - 1) not in places:
                problems.append(f"{relative}:{line}: changed, but no change is listed there")
    known = set(NPU_NAME.findall(before.string))
    for name in set(NPU_NAME.findall(after.string)) - known:
        parts = name.split(".")
        prefixes = [".".join(parts[:length]) for length in range(max(2, len(parts) - 2), len(parts) + 1)]
        transferred = name.startswith("torch_npu.contrib") and release.transfer_patches
        if not transferred and not any(release.has(prefix) or release.importable(prefix) for prefix in prefixes):
            problems.append(f"{relative}: {name} does not exist in torch_npu {release.torch_npu}")
    return changed


def main() -> int:
    """Check the folders named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--unsafe", action="store_true")
    parser.add_argument("--torch-npu")
    parser.add_argument("--style", choices=STYLES, default="npu")
    parser.add_argument("--place-on-npu", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    options = Options(
        jobs=1,
        cache=False,
        unsafe=arguments.unsafe,
        torch_npu=arguments.torch_npu,
        style=arguments.style,
        place_on_npu=arguments.place_on_npu,
    )
    failed = 0
    for folder in arguments.folders:
        problems, summary = check(folder, options)
        print(summary, flush=True)
        for problem in problems:
            print(f"  FAILED {problem}", flush=True)
        failed += len(problems)
    print(f"{len(arguments.folders)} projects, {failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
