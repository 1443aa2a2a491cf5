"""Words by which packages beside PyTorch ask for a GPU."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.knowledge.frameworks.device_words import device_word, device_words, word_arguments
from npuify.model import Evidence, Safety
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.frameworks.device_words import DeviceWord
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_MODULES = tuple(sorted({module.rpartition(".")[2].lower() for row in device_words() for module in row.modules}))


def _words() -> tuple[str, ...]:
    """What stands on a line: the last part of a name; where that is nothing of its own, the part before it, too."""
    found = {f"{name}=" for name in word_arguments()}
    for row in device_words():
        for name in row.names:
            around, _, last = name.rpartition(".")
            word = last.rstrip("*").lower()
            if word in ("", "gpu", "cuda_"):
                module = around.rpartition(".")[2].lower()
                # cv2 is written cv, mxnet mx: what every import of the module holds is looked for, too.
                found |= {
                    f".{module}." if not word else f".{word}{'(' if word == 'gpu' else ''}",
                    f"from {around.lower()}",
                }
            else:
                found.add(word)
    return tuple(sorted(found))


@rule(
    "NPU980",
    "gpu-of-another-package",
    Safety.MANUAL,
    words=_words(),
    also_in_file=_MODULES,
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source="the table of packages' own words for devices; npuify says the source with each finding",
)
def gpu_of_another_package(
    node: ast.Attribute | ast.Name | ast.ImportFrom | ast.keyword, file: PythonFile
) -> Iterator[Diagnostic]:
    """A package beside PyTorch asks for a GPU in words of its own: spaCy, decord, OpenCV, llama.cpp, Modal and others.

    They know no NPU, so that nothing takes the word's place; what the package does without a GPU stands with each
    finding. A word that stays, as llama.cpp's ``n_gpu_layers`` does in a build with CANN, is told of, too.
    """
    if isinstance(node, ast.keyword):
        yield from _argument(node, file)
        return
    if isinstance(node, ast.ImportFrom):
        # Told at the import where the name is called alone: ``from decord import gpu``.
        for alias in node.names if not node.level else ():
            row = device_word(f"{node.module}.{alias.name}")
            if row is not None:
                yield from _told(node, f"{node.module}.{alias.name}", row, file)
        return
    if isinstance(node, ast.Name):
        return
    name = file.qualname(node) or ""
    if isinstance(file.parent(node), ast.Attribute):
        row = device_word(f"{name}.")  # of cv2.cuda.GpuMat the module is looked at, since any name may follow
    else:
        row = device_word(name) if device_word(f"{name.rpartition('.')[0]}.") is None else None
    if row is not None:
        yield from _told(node, name, row, file)


def _argument(node: ast.keyword, file: PythonFile) -> Iterator[Diagnostic]:
    call = file.parent(node)
    rows = word_arguments().get(node.arg or "", ())
    if not rows or not isinstance(call, ast.Call) or (isinstance(node.value, ast.Constant) and not node.value.value):
        return
    name = file.qualname(call.func)
    for row in rows:
        last = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        is_method = last in row.methods and not (name and _is_of_another(name, row))
        if (name and row.has(name)) or (is_method and any(_imports(module, file) for module in row.modules)):
            yield from _told(node, f"{row.package}: {node.arg}", row, file)


def _is_of_another(name: str, row: DeviceWord) -> bool:
    """Whether a qualified name is surely of another package: it begins with one that is imported."""
    return "." in name and not row.has(name) and name.partition(".")[0] in ("torch", "tensorflow", "jax", "ray")


def _imports(module: str, file: PythonFile) -> bool:
    return file.contains(f"import {module}".encode()) or file.contains(f"from {module}".encode())


def _told(node: ast.AST, subject: str, row: DeviceWord, file: PythonFile) -> Iterator[Diagnostic]:
    if not file.project.packages.isdisjoint(module.partition(".")[0] for module in row.modules):
        return  # the package itself is what is migrated
    yield file.report(
        node,
        row.message,
        severity=row.severity,
        evidence=row.evidence,
        source=row.source,
        subject=subject,
        advice=row.advice,
    )
