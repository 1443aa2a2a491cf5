"""NVIDIA's device library in Triton kernels: what Triton's own language has, and what triton-ascend's library has."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from npuify.knowledge.third_party.kernels import libdevice_functions
from npuify.language import commas, phrase
from npuify.model import Edit, Evidence, Safety, Severity
from npuify.rules.common.edits.statements import ends_its_line, indentation, without_line
from npuify.rules.common.packages.import_guards import has_fallback, no_other_takes
from npuify.rules.common.packages.name_uses import Use, uses_of
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_LIBRARIES = ("triton.language.extra.cuda.libdevice", "triton.language.extra.libdevice")
_WHOLE = (*_LIBRARIES, "triton.language.libdevice")
"""What the library is called where nothing imports it; the last is that of Triton 2."""
_OURS = ("triton.language.extra.cann.libdevice", "triton.language.extra.ascend.libdevice")
"""The device library of triton-ascend, in newer and in older releases."""


_MISSING = "ImportError"


class _Calls(NamedTuple):
    """What a file does with a name that it imports from the library.

    Attributes:
        written: uses that Triton's language writes, with the function's name there.
        held: functions that triton-ascend's library has.
        lacking: functions that an NPU lacks.
    """

    written: tuple[tuple[Use, str], ...]
    held: tuple[str, ...]
    lacking: tuple[str, ...]


@rule(
    "NPU645",
    "triton-device-library-of-cuda",
    Safety.SAFE,
    words=("libdevice",),
    also_in_file=("triton",),
    evidence=Evidence.PACKAGE,
    source="triton-ascend 3.2.0, folder language/extra",
)
def triton_device_library_of_cuda(
    node: ast.Import | ast.ImportFrom | ast.Attribute, file: PythonFile
) -> Iterator[Diagnostic]:
    """A Triton kernel calls NVIDIA's device library, which triton-ascend does not have.

    What Triton's own language computes on every device is called there. For the rest the device library of
    triton-ascend is imported, which has fewer functions and types: an edit to review.

    Before::

        import triton
        import triton.language as tl
        from triton.language.extra.cuda import libdevice

        @triton.jit
        def kernel(x, y, size: tl.constexpr):
            at = tl.arange(0, size)
            tl.store(y + at, libdevice.rsqrt(tl.load(x + at)))

    After::

        import triton
        import triton.language as tl

        @triton.jit
        def kernel(x, y, size: tl.constexpr):
            at = tl.arange(0, size)
            tl.store(y + at, tl.math.rsqrt(tl.load(x + at)))
    """
    if isinstance(node, ast.Attribute):
        yield from _called_whole(node, file)
        return
    if isinstance(node, ast.Import) and any(one.name in _LIBRARIES and not one.asname for one in node.names):
        if not has_fallback(node, file):
            yield _by_whole_name(node, file)
        return
    if not _named(node):
        return
    calls = _calls(node, file)
    language = _language(node, file)
    guarded = has_fallback(node, file)
    if calls.lacking:
        yield file.report(
            node,
            phrase("the device library of triton-ascend lacks {names}", names=commas(calls.lacking)),
            severity=Severity.ERROR,
            subject=_LIBRARIES[0],
            advice=phrase("compute it from functions of Triton's language"),
        )
        return
    if not calls.written and not calls.held and (guarded or not _is_unused(node, file)):
        return
    edits = [] if language is None else [file.replace(use.node, f"{language}.math.{to}") for use, to in calls.written]
    whole = language is not None or not calls.written
    if whole and not guarded:
        edits = _with_import(node, calls, edits, file)
    elif calls.held or not whole:
        edits = []
    yield file.report(
        node,
        phrase("triton-ascend does not have NVIDIA's device library"),
        edits=edits,
        safety=Safety.REVIEW if calls.held else None,
        subject=_LIBRARIES[0],
        advice=_advice(calls, edits),
    )


def _called_whole(node: ast.Attribute, file: PythonFile) -> Iterator[Diagnostic]:
    """``tl.extra.cuda.libdevice.tanh(x)``, with no import of the library."""
    called = file.parent(node)
    if not isinstance(called, ast.Attribute) or file.qualname(node) not in _WHOLE:
        return
    language = node.value
    while isinstance(language, ast.Attribute) and file.qualname(language) != "triton.language":
        language = language.value
    if file.qualname(language) != "triton.language":
        return
    function = called.attr
    becomes = libdevice_functions().get(function)
    edit = file.edit(file.source.end(language), file.source.end(called), f".math.{becomes}") if becomes else None
    yield file.report(
        called,
        phrase("the device library of triton-ascend lacks {names}", names=function)
        if becomes is None
        else phrase("triton-ascend does not have NVIDIA's device library"),
        edits=[edit] if edit is not None else [],
        safety=Safety.SAFE if edit is not None else Safety.MANUAL,
        severity=Severity.ERROR,
        subject=_LIBRARIES[0],
        advice=""
        if becomes
        else phrase("compute it from functions of Triton's language")
        if becomes is None
        else phrase("import libdevice from {library}, which has it", library=_OURS[0].rpartition(".")[0]),
    )


def _by_whole_name(node: ast.Import, file: PythonFile) -> Diagnostic:
    """``import triton.language.extra.cuda.libdevice``, which binds ``triton`` alone."""
    return file.report(
        node,
        phrase("triton-ascend does not have NVIDIA's device library"),
        safety=Safety.MANUAL,
        severity=Severity.ERROR,
        subject=_LIBRARIES[0],
        advice=phrase("call the same functions of tl.math"),
    )


def _is_unused(node: ast.Import | ast.ImportFrom, file: PythonFile) -> bool:
    bound = [alias.asname or alias.name for alias, _ in _named(node)]
    used = any(isinstance(one, ast.Name) and one.id in bound for one in file.nodes_on_lines_with(*bound))
    return not used and no_other_takes(bound, file)


def _advice(calls: _Calls, edits: list[Edit]) -> str:
    if calls.held:
        return phrase(
            "triton-ascend's library takes float32 and float16 for most functions; check the types of {names}",
            names=commas(calls.held),
        )
    return "" if edits else phrase("call the same functions of tl.math")


def _named(node: ast.Import | ast.ImportFrom) -> list[tuple[ast.alias, str]]:
    """What a statement binds of the library, with the qualified names."""
    if isinstance(node, ast.Import):
        return [(alias, alias.name) for alias in node.names if alias.asname and alias.name in _LIBRARIES]
    if node.level:
        return []
    named = [(alias, f"{node.module}.{alias.name}") for alias in node.names]
    return [(alias, name) for alias, name in named if name in _LIBRARIES or name.rpartition(".")[0] in _LIBRARIES]


def _calls(node: ast.Import | ast.ImportFrom, file: PythonFile) -> _Calls:
    written: list[tuple[Use, str]] = []
    held: list[str] = []
    lacking: list[str] = []
    functions = libdevice_functions()
    for alias, name in _named(node):
        for use in uses_of(alias.asname or alias.name, name, file.scope(node), file):
            function = use.name.rpartition(".")[2]
            becomes = functions.get(function)
            if becomes is None or use.name.rpartition(".")[0] not in _LIBRARIES:
                lacking.append(function)
            elif becomes:
                written.append((use, becomes))
            else:
                held.append(function)
    return _Calls(tuple(written), tuple(dict.fromkeys(held)), tuple(dict.fromkeys(lacking)))


def _language(node: ast.Import | ast.ImportFrom, file: PythonFile) -> str | None:
    """The name under which the file has Triton's language."""
    for name, bindings in file.scope(node).module.names.items():
        if bindings and all(one.kind == "import" and one.target == "triton.language" for one in bindings):
            return name
    return None


def _with_import(node: ast.Import | ast.ImportFrom, calls: _Calls, edits: list[Edit], file: PythonFile) -> list[Edit]:
    """The edits with one of the import: taken out where nothing needs it, else of triton-ascend's library."""
    named = _named(node)
    indent = indentation(node, file)
    if len(named) != len(node.names) or indent is None or not ends_its_line(node, file):
        return []
    if not calls.held:
        gone = without_line(node, file)
        return [] if gone is None or file.source.relative.endswith("__init__.py") else [gone, *edits]
    lines = _either(named, calls)
    return [file.replace(node, f"{file.source.text.newline}{indent}".join(lines)), *edits]


def imports_on_npu(node: ast.Import | ast.ImportFrom, file: PythonFile) -> list[str] | None:
    """What an import of NVIDIA's library becomes where its calls stay as they are: statements that bind the same names.

    None where no import does: of functions by themselves, of some that each library has alone or under another name.
    """
    named, calls = _named(node), _calls(node, file)
    if calls.lacking or len(named) != len(node.names):
        return None
    modules = [alias for alias, name in named if name in _LIBRARIES]
    if calls.held:
        return None if calls.written else _either(named, calls)
    # Functions of the language that are imported by themselves are not known to Triton's interpreter.
    if not modules or any(use.name.rpartition(".")[2] != to for use, to in calls.written):
        return None
    return [f"from triton.language import math as {alias.asname or alias.name}" for alias in modules]


def _either(named: list[tuple[ast.alias, str]], calls: _Calls) -> list[str]:
    """An import from triton-ascend's library, in its newer and older releases."""
    first, second = (_import(named, calls, library) for library in _OURS)
    return ["try:", f"    {first}", f"except {_MISSING}:", f"    {second}"]


def _import(named: list[tuple[ast.alias, str]], calls: _Calls, library: str) -> str:
    package = library.rpartition(".")[0]
    modules = [alias for alias, name in named if name in _LIBRARIES]
    kept = modules or [alias for alias, _ in named if alias.name in calls.held]
    bare = [(alias.name.rpartition(".")[2], alias.asname) for alias in kept]
    names = [name if asname in (None, name) else f"{name} as {asname}" for name, asname in bare]
    return f"from {package if modules else library} import {', '.join(names)}"
