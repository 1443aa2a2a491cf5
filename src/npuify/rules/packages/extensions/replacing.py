"""Put modules of PyTorch in the place of CUDA extensions whose code is known, where the user asks for it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

import msgspec

from npuify.analysis.project import module_name
from npuify.helpers import KERNELS
from npuify.language import commas, phrase
from npuify.model import Edit, Evidence, Finding, Safety, Severity
from npuify.rules.common.packages.helper_modules import import_finding
from npuify.rules.common.span_findings import span_finding
from npuify.rules.packages.extensions.loading import Loading, may_load
from npuify.rules.packages.extensions.written_kernels import either_way, import_lines
from npuify.rules.registry import Rule, list_rule
from npuify.source.python import PythonSource

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from npuify.analysis.project import ProjectIndex
    from npuify.rules.opt_ins import ReplacedExtension
    from npuify.rules.packages.extensions.loading import LoadingFunction

CODE: Final = "NPU643"


def _documentation(node: object, file: object) -> Iterator[object]:
    """The import of a CUDA extension becomes that of a module in PyTorch, if ``--replace-kernels`` is given.

    This is done for extensions whose C++ and CUDA code is, but for names, checks and launches, that of a copy which was
    read and is proven to be replaced: ``npuify explain`` and the documentation list them. A copy that differs in any
    operation, constant or order is not replaced. The modules are written into the project as the folder
    ``npuify_kernels``; they take the same arguments, also for the backward pass, so that the code that calls the
    extension stays as it is. In the portable style they are imported only where the extension is not built.

    Before::

        import upfirdn2d_ext

        def blur(image, taps):
            return upfirdn2d_ext.upfirdn2d(image, taps, 1, 1, 1, 1, 1, 1, 1, 1)

    After::

        from npuify_kernels import upfirdn2d_ext

        def blur(image, taps):
            return upfirdn2d_ext.upfirdn2d(image, taps, 1, 1, 1, 1, 1, 1, 1, 1)
    """
    raise NotImplementedError("extensions are replaced by their own module")


RULE = list_rule(
    Rule(
        CODE,
        "extension-with-replacement",
        Safety.REVIEW,
        Severity.WARNING,
        Evidence.ASSUMED,
        "the extension's code, compared with copies that were read; tests of the replacement on the CPU",
        (),
        (),
        _documentation,
    )
)

# --- the files that import it ---


def may_concern(raw: bytes, extensions: Sequence[ReplacedExtension]) -> bool:
    """Whether a file may import or build one of the extensions."""
    return any(one.module.rpartition(".")[2].encode() in raw for one in extensions)


def replacing_findings(
    relative: str, raw: bytes, extensions: Sequence[ReplacedExtension], project: ProjectIndex, *, portable: bool
) -> list[Finding]:
    """The imports of a file that are replaced.

    Args:
        relative: the file's path.
        raw: its bytes.
        extensions: what is replaced in this project.
        project: knows where its packages begin.
        portable: keep the extension where it is built.
    """
    # Elsewhere a name such as _C is something else.
    extensions = [one for one in extensions if relative in one.files or may_load(raw, one)]
    if not may_concern(raw, extensions) or relative.rpartition("/")[2] == "setup.py":
        return []
    source = PythonSource(relative, module_name(relative), raw, reexport=project.reexport)
    parents = {child: node for node in ast.walk(source.tree) for child in ast.iter_child_nodes(node)}
    found: list[Finding] = []
    built: dict[str, ReplacedExtension] = {}
    left_out: set[ast.AST] = set()
    loading = Loading(source.tree, extensions, parents)
    for function in loading.functions():
        left_out.update(ast.walk(function.node))
        if function.first is not None:
            found.append(_left(function, function.first, source, portable=portable))
        if function.value is not None or portable:
            made = function.value or function.one
            built[made.name] = made
    for node in ast.walk(source.tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found += _imported(node, source, extensions, parents.get(node), portable=portable)
        elif isinstance(node, ast.Call) and node not in left_out and (extension := loading.built(node)) is not None:
            if not isinstance(parents.get(node), ast.IfExp):
                found.append(_built(node, source, extension, portable=portable))
            built[extension.name] = extension
        elif isinstance(node, ast.Attribute) and (extension := _library(node, extensions, parents)) is not None:
            if not _is_chosen(node, parents):
                found.append(_of_library(node, source, extension, portable=portable))
            built[extension.name] = extension
        elif isinstance(node, ast.Name):
            built.update({one.name: one for one in extensions if node.id == _alias(one)})
    for extension in built.values():
        if found or any(isinstance(one, ast.Name) and one.id == _alias(extension) for one in ast.walk(source.tree)):
            found += _import_of_built(source, extension)
    return found


def _left(function: LoadingFunction, first: ast.stmt, source: PythonSource, *, portable: bool) -> Finding:
    """The function is left at once, with what it would give: nothing, or one of the modules."""
    start, extension = source.start(first), function.value or function.one
    indent = source.data[source.data.rfind(b"\n", 0, start) + 1 : start].decode()
    newline = source.text.newline + indent
    text = f"return {_alias(function.value)}" if function.value is not None else "return"
    if portable:
        text = f"if {_alias(extension)}.TAKES_ITS_PLACE:{newline}    {text}"
    return _finding(source, start, start, extension, Edit(start, start, "", f"{text}{newline}"))


def _alias(extension: ReplacedExtension) -> str:
    """The name under which a file that builds the extension itself imports what takes its place."""
    return f"npuify_{extension.name}"


def _import_of_built(source: PythonSource, extension: ReplacedExtension) -> list[Finding]:
    alias = _alias(extension)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom) and any(one.asname == alias for one in node.names):
            return []
    (finding,) = import_finding(source, RULE, alias, f"{extension.name} as {alias}", KERNELS)
    (edit,) = finding.edits
    line = f"from {KERNELS} import {extension.name} as {alias}"
    lines = source.text.newline.join(import_lines(extension, source.relative, alias))
    edits = (msgspec.structs.replace(edit, after=edit.after.replace(line, lines)),)
    return [msgspec.structs.replace(finding, subject=extension.module, message=_message(extension), edits=edits)]


def _imported(
    node: ast.Import | ast.ImportFrom,
    source: PythonSource,
    extensions: Sequence[ReplacedExtension],
    parent: ast.AST | None,
    *,
    portable: bool,
) -> Iterator[Finding]:
    if isinstance(node, ast.ImportFrom) and (extension := _source_of(node, source, extensions)) is not None:
        yield from _names_imported(node, source, extension, parent, portable=portable)
        return
    for alias in node.names:
        extension = _meant(node, alias, source, extensions)
        if extension is None:
            continue
        local = alias.asname or alias.name
        if "." in local:
            # ``import package.extension``: the code goes through the package's name, which stays.
            continue
        start, end = source.start(node), source.end(node)
        line_start = source.data.rfind(b"\n", 0, start) + 1
        indent = source.data[line_start:start].decode()
        if indent.strip() or _is_guarded(parent):
            continue
        new = import_lines(extension, source.relative, local)
        others = [one for one in node.names if one is not alias]
        old = source.segment(start, end)
        if portable and others:
            continue
        if portable:
            new = _guarded(old, new)
        elif others:
            new = [ast.unparse(type(node)(**{**vars(node), "names": others})), *new]
        text = f"{source.text.newline}{indent}".join(new)
        yield _finding(source, start, end, extension, Edit(start, end, old, text))


def _names_imported(
    node: ast.ImportFrom,
    source: PythonSource,
    extension: ReplacedExtension,
    parent: ast.AST | None,
    *,
    portable: bool,
) -> Iterator[Finding]:
    """``from package.extension import function``: the names stay, and come from elsewhere."""
    start, end = source.start(node), source.end(node)
    indent = source.data[source.data.rfind(b"\n", 0, start) + 1 : start].decode()
    if indent.strip() or _is_guarded(parent) or any(one.name == "*" for one in node.names):
        return
    names = ", ".join(one.name + (f" as {one.asname}" if one.asname else "") for one in node.names)
    old, new = source.segment(start, end), either_way(extension, source.relative, f".{extension.name} import {names}")
    if portable:
        new = _guarded(old, new)
    text = f"{source.text.newline}{indent}".join(new)
    yield _finding(source, start, end, extension, Edit(start, end, old, text))


def _guarded(old: str, new: Sequence[str]) -> list[str]:
    """The import as it was, and the other where the extension is not built."""
    return [
        "try:",
        *(f"    {line}" for line in old.splitlines()),
        "except ImportError:",
        *(f"    {line}" for line in new),
    ]


def _is_guarded(holder: ast.AST | None) -> bool:
    """Whether an import in ``holder`` has one behind it that takes its place: a migrated file in the portable style."""
    return isinstance(holder, ast.Try) and any(
        isinstance(inner, ast.ImportFrom) and KERNELS in (inner.module or "").split(".")
        for handler in holder.handlers
        for inner in handler.body
    )


def _meant(
    node: ast.Import | ast.ImportFrom,
    alias: ast.alias,
    source: PythonSource,
    extensions: Sequence[ReplacedExtension],
) -> ReplacedExtension | None:
    """The extension that an import names."""
    if isinstance(node, ast.ImportFrom):
        if KERNELS in (node.module or "").split("."):
            return None
        full = ".".join(part for part in (_above(node, source), node.module or "", alias.name) if part)
    else:
        full = alias.name
    return _of_name(full, extensions, relative=isinstance(node, ast.ImportFrom) and bool(node.level))


def _above(node: ast.ImportFrom, source: PythonSource) -> str:
    """The package that the dots of an import mean."""
    package = source.module.split(".")
    is_package = source.relative.rpartition("/")[2] == "__init__.py"
    up = node.level - (1 if is_package else 0)
    return ".".join(package[: len(package) - up]) if node.level else ""


def _source_of(
    node: ast.ImportFrom, source: PythonSource, extensions: Sequence[ReplacedExtension]
) -> ReplacedExtension | None:
    """The extension whose functions an import names."""
    if not node.module or KERNELS in node.module.split("."):
        return None
    full = ".".join(part for part in (_above(node, source), node.module) if part)
    found = _of_name(full, extensions, relative=bool(node.level))
    if found is None:
        return None
    functions = {name for name, _, _ in found.functions} | set(found.missing)
    return found if functions.issuperset(one.name for one in node.names) else None


def _of_name(full: str, extensions: Sequence[ReplacedExtension], *, relative: bool) -> ReplacedExtension | None:
    same = [one for one in extensions if full == one.module or full.endswith(f".{one.module}")]
    if not same:
        # The folders before the name may lie on sys.path, or setup.py may name only the last part.
        last = full.rpartition(".")[2]
        same = [one for one in extensions if one.module == last or one.module.endswith(f".{full}")]
        if not same and relative:
            same = [one for one in extensions if one.module.rpartition(".")[2] == last]
    return same[0] if len(same) == 1 else None


def _built(node: ast.Call, source: PythonSource, extension: ReplacedExtension, *, portable: bool) -> Finding:
    start, end = source.start(node), source.end(node)
    alias = _alias(extension)
    if portable:
        edit = Edit(start, start, "", f"{alias} if {alias}.TAKES_ITS_PLACE else ")
    else:
        edit = Edit(start, end, source.segment(start, end), alias)
    return _finding(source, start, end, extension, edit)


def _library(
    node: ast.Attribute, extensions: Sequence[ReplacedExtension], parents: Mapping[ast.AST, ast.AST]
) -> ReplacedExtension | None:
    """The library of operators that ``torch.ops.library`` names, where what is taken of it is replaced."""
    above = node.value
    if not (
        isinstance(above, ast.Attribute)
        and above.attr == "ops"
        and isinstance(above.value, ast.Name)
        and above.value.id == "torch"
    ):
        return None
    extension = next((one for one in extensions if one.module == f"torch.ops.{node.attr}"), None)
    holder = parents.get(node)
    if extension is None or isinstance(node.ctx, ast.Store):
        return None
    if isinstance(holder, ast.Attribute):
        return extension if any(name == holder.attr for name, _, _ in extension.functions) else None
    return None if extension.missing else extension


def _is_chosen(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> bool:
    """Whether it stands in what a migration in the portable style has written."""
    holder = parents.get(node)
    test = holder.test if isinstance(holder, ast.IfExp) else None
    return isinstance(test, ast.Attribute) and test.attr == "TAKES_ITS_PLACE"


def _of_library(node: ast.Attribute, source: PythonSource, extension: ReplacedExtension, *, portable: bool) -> Finding:
    start, end = source.start(node), source.end(node)
    alias, old = _alias(extension), source.segment(start, end)
    new = f"({alias} if {alias}.TAKES_ITS_PLACE else {old})" if portable else alias
    return _finding(source, start, end, extension, Edit(start, end, old, new))


def _message(extension: ReplacedExtension) -> str:
    names = ", ".join(name for name, _, _ in extension.functions)
    message = phrase(
        "{module} is replaced by npuify_kernels/{name}.py: {names}",
        module=extension.module,
        name=extension.name,
        names=names,
    )
    if extension.missing:
        message += phrase(
            "; {missing} stays without a replacement, and fails where it is called", missing=commas(extension.missing)
        )
    return message


def _finding(source: PythonSource, start: int, end: int, extension: ReplacedExtension, edit: Edit) -> Finding:
    return span_finding(
        RULE,
        source,
        (start, end),
        _message(extension),
        subject=extension.module,
        advice="run the project's own tests of this operator; the module that takes its place says what its limits are",
        edits=(edit,),
    )
