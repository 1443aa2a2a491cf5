"""Building C++ and CUDA extensions: in setup.py, and while the program runs."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.helpers import KERNELS
from npuify.language import commas, phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.packages.extensions.inline_code import DIFFICULTIES, inline_operators
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Edit, NativeOperator
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


_MODULE = "torch.utils.cpp_extension"
_MOST_TOLD = 6
"""Operators of one call that its finding tells of."""


@rule(
    "NPU631",
    "cuda-extension-build",
    Safety.SAFE,
    words=("cudaextension",),
    names=(_MODULE,),
    evidence=Evidence.PACKAGE,
    source="torch/utils/cpp_extension.py: CUDAExtension needs CUDA_HOME as soon as it is created",
)
def cuda_extension_build(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """Creating a CUDAExtension makes setup.py fail where CUDA is not installed; it is then only created where CUDA is.

    Nothing changes on a machine with CUDA. On others the package installs without the extension; the findings about
    each operator say what imports it.

    Before::

        from setuptools import setup
        from torch.utils.cpp_extension import BuildExtension, CUDAExtension

        setup(
            name="scale",
            ext_modules=[CUDAExtension("scale_cuda", ["scale.cpp", "scale.cu"])],
            cmdclass={"build_ext": BuildExtension},
        )

    After::

        from setuptools import setup
        from torch.utils.cpp_extension import CUDA_HOME, BuildExtension, CUDAExtension

        setup(
            name="scale",
            ext_modules=[*([CUDAExtension("scale_cuda", ["scale.cpp", "scale.cu"])] if CUDA_HOME is not None else [])],
            cmdclass={"build_ext": BuildExtension},
        )
    """
    if file.qualname(node.func) != f"{_MODULE}.CUDAExtension" or _is_guarded(node, file):
        return
    edits = _made_only_with_cuda(node, file)
    name = next((one.value for one in node.args[:1] if isinstance(one, ast.Constant)), "")
    yield file.report(
        node,
        "creating a CUDAExtension fails where CUDA is not installed, and with it the whole installation",
        edits=edits or (),
        subject=str(name) or "CUDAExtension",
        advice="build it only where torch.utils.cpp_extension.CUDA_HOME is set; for Ascend C, use NpuExtension",
    )


def _is_guarded(node: ast.AST, file: PythonFile) -> bool:
    """Whether the code asks for CUDA before it comes here: by a condition, or by leaving the function."""
    for up in file.ancestors(node):
        if isinstance(up, (ast.If, ast.IfExp)) and _asks_for_cuda(up.test):
            return True
        if isinstance(up, ast.ListComp) and any(_asks_for_cuda(one) for made in up.generators for one in made.ifs):
            return True
        if isinstance(up, ast.FunctionDef):
            return any(
                isinstance(one, ast.If)
                and one.lineno < getattr(node, "lineno", 0)
                and _asks_for_cuda(one.test)
                and any(isinstance(inner, (ast.Return, ast.Raise)) for inner in one.body)
                for one in ast.walk(up)
            )
    return False


def _is_replaced_before(node: ast.AST, file: PythonFile) -> bool:
    """Whether it stands behind the failure of an import for which ``--replace-kernels`` has put a module."""
    for up in file.ancestors(node):
        if isinstance(up, ast.ExceptHandler):
            attempt = file.parent(up)
            imports = [one for one in ast.walk(attempt) if isinstance(one, ast.ImportFrom)] if attempt else []
            inside = {
                inner for handler in getattr(attempt, "handlers", ()) if handler is up for inner in ast.walk(handler)
            }
            if any(KERNELS in (one.module or "").split(".") for one in imports if one not in inside):
                return True
    return False


_ASKS: Final = ("is_available", "TAKES_ITS_PLACE")
"""Names that stand in a condition for whether CUDA is there; the last in modules that migrate writes."""


def _asks_for_cuda(test: ast.AST) -> bool:
    for inner in ast.walk(test):
        word = inner.id if isinstance(inner, ast.Name) else inner.attr if isinstance(inner, ast.Attribute) else ""
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            word = inner.value
        if any(part in word.lower() for part in ("cuda", "gpu", "nvcc")) or word in _ASKS:
            return True
    return False


def _made_only_with_cuda(node: ast.Call, file: PythonFile) -> list[Edit] | None:
    """Edits that put a condition around a call.

    None where it is neither an item of a list, nor of a call that adds to one, nor what a name stands for that is only
    used so.
    """
    holder = file.parent(node)
    home = _cuda_home(node.func, file)
    if home is None:
        return None
    name, more = home
    test = f"{name} is not None"
    edits: list[Edit] | None
    if isinstance(holder, ast.ListComp) and holder.elt is node:
        last = [holder.generators[-1].iter, *holder.generators[-1].ifs][-1]
        end, close = file.source.end(last), file.source.end(holder) - 1
        # Brackets around the last part, and comments behind it, belong before the condition.
        end = close if file.source.data[end:close].strip() else end
        edits = [file.edit(end, end, f" if {test}")] if not _is_conditional(holder) else None
    elif isinstance(holder, ast.Assign) and len(holder.targets) == 1 and isinstance(holder.targets[0], ast.Name):
        end = file.source.end(node)
        uses = _uses(holder.targets[0], file)
        edits = [file.edit(end, end, f" if {test} else None")] if uses else None
        for use in uses or ():
            made = _item_only_if(use, f"{use.id} is not None", file)
            edits = [*edits, *made] if edits is not None and made is not None else None
    else:
        edits = _item_only_if(node, test, file)
    return [*more, *edits] if edits is not None else None


def _is_conditional(made: ast.ListComp) -> bool:
    """Whether a condition could not simply stand at the end of a list that is made by loops."""
    last = made.generators[-1]
    return isinstance(last.iter, (ast.IfExp, ast.Lambda)) or any(isinstance(one, ast.IfExp) for one in last.ifs)


def _uses(target: ast.Name, file: PythonFile) -> list[ast.Name]:
    """The places that read a name which is given a value once; empty where there are others, or none."""
    found = [one for one in file.nodes_on_lines_with(target.id) if isinstance(one, ast.Name) and one.id == target.id]
    if any(not isinstance(one.ctx, ast.Load) for one in found if one is not target):
        return []
    return [one for one in found if one is not target]


def _item_only_if(node: ast.expr, test: str, file: PythonFile) -> list[Edit] | None:
    """Edits that leave an item out of its list where ``test`` does not hold."""
    holder = file.parent(node)
    start, end = file.source.start(node), file.source.end(node)
    condition = f" if {test} else [])"
    if isinstance(holder, (ast.List, ast.Tuple)) and isinstance(holder.ctx, ast.Load) and node in holder.elts:
        return [file.edit(start, start, "*(["), file.edit(end, end, "]" + condition)]
    if (
        isinstance(holder, ast.Call)
        and isinstance(holder.func, ast.Attribute)
        and holder.func.attr == "append"
        and holder.args == [node]
    ):
        span = file.source.attribute_span(holder.func)
        if span is None:
            return None
        return [file.edit(*span, "extend"), file.edit(start, start, "(["), file.edit(end, end, "]" + condition)]
    return None


def _cuda_home(function: ast.expr, file: PythonFile) -> tuple[str, list[Edit]] | None:
    """How the file can say CUDA_HOME, with an edit of its import where it cannot yet."""
    if isinstance(function, ast.Attribute):
        return f"{file.source.code(function.value)}.CUDA_HOME", []
    for statement in file.source.tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == _MODULE and not statement.level:
            names = {alias.name: alias.asname for alias in statement.names}
            if "CUDA_HOME" in names:
                return names["CUDA_HOME"] or "CUDA_HOME", []
            first = file.source.start(statement.names[0])
            if "*" in names and not any(
                isinstance(other, ast.ImportFrom) and "CUDA_HOME" in {alias.name for alias in other.names}
                for other in file.source.tree.body
            ):
                # The star does not bring it: __all__ of the module leaves it out.
                first = file.source.start(statement)
                line = f"from {_MODULE} import CUDA_HOME{file.source.text.newline}"
                return "CUDA_HOME", [file.edit(first, first, line)]
            if "*" in names:
                return "CUDA_HOME", []
            if "CUDAExtension" in names:
                return "CUDA_HOME", [file.edit(first, first, "CUDA_HOME, ")]
    return None


@rule(
    "NPU632",
    "cuda-extension-at-run-time",
    Safety.MANUAL,
    words=("load_inline", "cpp_extension"),
    names=(f"{_MODULE}.load",),
    evidence=Evidence.PACKAGE,
    source="torch/utils/cpp_extension.py",
)
def cuda_extension_at_run_time(node: ast.Call | ast.ImportFrom, file: PythonFile) -> Iterator[Diagnostic]:
    """torch.utils.cpp_extension.load and load_inline compile CUDA code at run time, which needs nvcc.

    For code in the file itself, the finding says which operators it defines, what makes them hard to port, and which
    lines call them. CPU-only code compiles as before.
    """
    calls = [node] if isinstance(node, ast.Call) else []
    if isinstance(node, ast.ImportFrom) and node.module == _MODULE and not node.level:
        # Calls by a plain name stand on lines that hold no word of this rule.
        for alias in node.names:
            if alias.name in ("load", "load_inline"):
                seen = file.nodes_on_lines_with(alias.asname or alias.name)
                calls += [inner for inner in seen if isinstance(inner, ast.Call)]
    for call in calls:
        name = file.qualname(call.func)
        if name in (f"{_MODULE}.load", f"{_MODULE}.load_inline") and not file.recall(("compiled", call)):
            file.remember(("compiled", call), True)
            yield from _compiled(call, name or "", file)


def _compiled(node: ast.Call, name: str, file: PythonFile) -> Iterator[Diagnostic]:
    texts = [
        inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant) and isinstance(inner.value, str)
    ]
    given = {keyword.arg for keyword in node.keywords}
    literal = "cuda_sources" in given or any(text.endswith((".cu", ".cuh")) or "__global__" in text for text in texts)
    if not literal and "with_cuda" not in given and any(text.endswith((".cpp", ".cc", ".cxx")) for text in texts):
        return
    guarded = _is_guarded(node, file) or _is_replaced_before(node, file)
    told = ""
    if name.endswith("load_inline"):
        operators = inline_operators(file.source.relative, file.source.data, node.lineno)
        told = "".join(phrase("; {operator}", operator=_of_operator(one)) for one in operators[:_MOST_TOLD])
        told += phrase("; and {value} more", value=len(operators) - _MOST_TOLD) if len(operators) > _MOST_TOLD else ""
    yield file.report(
        node,
        phrase("CUDA code is compiled at run time, which needs nvcc{operators}", operators=told)
        if literal
        else phrase("this may compile CUDA code{operators}", operators=told),
        severity=Severity.INFO if guarded or not literal else None,
        subject=name,
        advice="guard it with torch.utils.cpp_extension.CUDA_HOME and provide another implementation: in PyTorch, as "
        "a Triton kernel for triton-ascend, or in Ascend C",
    )


def _of_operator(one: NativeOperator) -> str:
    lines = ", ".join(place.rpartition(":")[2] for place in one.calls[:3])
    called = phrase("called in line {lines}", lines=lines) if lines else "no call was found in this file"
    uses = phrase(" ({uses})", uses=commas(one.uses)) if one.uses else ""
    equivalent = phrase("; {equivalent} does something similar", equivalent=one.equivalent) if one.equivalent else ""
    return phrase(
        "{name}: {difficulty}{uses}, {called}{equivalent}",
        name=one.name,
        difficulty=DIFFICULTIES[one.difficulty],
        uses=uses,
        called=called,
        equivalent=equivalent,
    )
