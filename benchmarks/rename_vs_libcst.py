"""The same rename, ``torch.cuda.*`` to ``torch.npu.*``, by npuify and by LibCST: CPU time of one process.

    python benchmarks/rename_vs_libcst.py [FOLDER ...] [--files 200]

The LibCST side is written as its documentation teaches it: a ``CSTTransformer`` with ``QualifiedNameProvider``, which
resolves imports and aliases. It is timed twice, on every file and only on those with the word ``cuda``, since npuify
looks for such words before it parses. npuify does more on its side: it asks the tables whether each name exists, and
applies and verifies the edits to a fixed point. The files are copied to a temporary folder first; neither side writes.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
import warnings
from pathlib import Path

import libcst
from libcst.metadata import MetadataWrapper, QualifiedNameProvider, QualifiedNameSource

import npuify
from corpus import python_files, roots
from npuify.options import Options


class RenameCuda(libcst.CSTTransformer):
    """Renames every use of ``torch.cuda`` and of what is below it, in import statements and expressions."""

    METADATA_DEPENDENCIES = (QualifiedNameProvider,)

    def __init__(self) -> None:
        super().__init__()
        self.renamed = 0

    def _is_torch_cuda(self, node: libcst.CSTNode) -> bool:
        names = self.get_metadata(QualifiedNameProvider, node, set())
        return any(name.source is QualifiedNameSource.IMPORT and name.name == "torch.cuda" for name in names)

    def leave_Attribute(  # noqa: N802 - LibCST's spelling
        self, original_node: libcst.Attribute, updated_node: libcst.Attribute
    ) -> libcst.Attribute:
        if original_node.attr.value == "cuda" and self._is_torch_cuda(original_node):
            self.renamed += 1
            return updated_node.with_changes(attr=libcst.Name("npu"))
        return updated_node

    def leave_ImportFrom(  # noqa: N802
        self, original_node: libcst.ImportFrom, updated_node: libcst.ImportFrom
    ) -> libcst.ImportFrom:
        module = updated_node.module
        if isinstance(updated_node.names, libcst.ImportStar):
            return updated_node
        if isinstance(module, libcst.Name) and module.value == "torch":
            names = [
                alias.with_changes(name=libcst.Name("npu"))
                if isinstance(alias.name, libcst.Name) and alias.name.value == "cuda"
                else alias
                for alias in updated_node.names
            ]
            return updated_node.with_changes(names=names)
        return updated_node


RENAMES = "NPU101,NPU102,NPU104,NPU106,NPU107"
"""The rules that rename what stands below ``torch.cuda``, and the imports of it."""


def with_libcst(sources: list[bytes]) -> tuple[float, int, int]:
    """CPU seconds, how many names were renamed, and how many files LibCST could not parse."""
    renamed = failed = 0
    start = time.process_time()
    for source in sources:
        transformer = RenameCuda()
        try:
            _ = MetadataWrapper(libcst.parse_module(source), unsafe_skip_copy=True).visit(transformer).bytes
        except (libcst.ParserSyntaxError, RecursionError, UnicodeDecodeError, LookupError):
            failed += 1
        renamed += transformer.renamed
    return time.process_time() - start, renamed, failed


def with_npuify(folder: Path, select: tuple[str, ...], torch_npu: str | None) -> tuple[float, int]:
    """CPU seconds of planning the whole migration of ``folder`` (nothing is written), and how many edits it holds."""
    options = Options(jobs=1, cache=False, select=select, unsafe=True, torch_npu=torch_npu)
    start = time.process_time()
    result = npuify.migrate(folder, None, options, mode="check")
    return time.process_time() - start, len(result.changes)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, help="default: this Python's own library")
    parser.add_argument("--files", type=int, default=200, help="how many files to take, chosen by a fixed seed; 0: all")
    parser.add_argument(
        "--select", default=RENAMES, help="rule codes for npuify, by commas; default: those of the same rename"
    )
    parser.add_argument("--torch-npu", help="the release to aim at")
    parser.add_argument("--limit", type=float, help="exit with 1 when npuify is less than this many times faster")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")

    files = python_files(roots(arguments.folders))
    if arguments.files and len(files) > arguments.files:
        files = sorted(random.Random(0).sample(files, arguments.files))
    sources = [path.read_bytes() for path in files]
    candidates = [source for source in sources if b"cuda" in source]
    lines = sum(source.count(b"\n") for source in sources)
    print(f"{len(files)} files, {lines} lines; {len(candidates)} files hold the word cuda")

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "project"
        folder.mkdir()
        for number, path in enumerate(files):
            shutil.copyfile(path, folder / f"file_{number:05d}.py")
        select = tuple(code for code in arguments.select.split(",") if code)
        with_npuify(folder, select, arguments.torch_npu)  # loads the tables and the modules
        npuify_seconds, changes = min(with_npuify(folder, select, arguments.torch_npu) for _ in range(3))
        every_rule, all_changes = min(with_npuify(folder, (), arguments.torch_npu) for _ in range(3))

    libcst_seconds, renamed, failed = with_libcst(sources)
    filtered_seconds, _, _ = with_libcst(candidates)
    print(f"npuify, the same rename: {npuify_seconds:.2f} s, {changes} edits")
    print(f"npuify, every rule: {every_rule:.2f} s, {all_changes} edits")
    print(f"LibCST, every file: {libcst_seconds:.2f} s, {renamed} renames, {failed} files refused")
    print(f"LibCST, only files with the word: {filtered_seconds:.2f} s")
    ratio, filtered_ratio = libcst_seconds / npuify_seconds, filtered_seconds / npuify_seconds
    print(
        f"the same rename: {ratio:.0f} times faster by npuify, {libcst_seconds / every_rule:.0f} times with every rule;"
    )
    print(f"{filtered_ratio:.0f} times when LibCST gets only the files with the word")
    return int(arguments.limit is not None and ratio < arguments.limit)


if __name__ == "__main__":
    sys.exit(main())
