"""Names that the torch aimed at has no more: the move to a newer torch is part of a migration."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.knowledge.pytorch.removed import removed_name, removed_names
from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.calls import imports_torch, keyword_of
from npuify.rules.common.edits.call_edits import without_keyword
from npuify.rules.common.edits.statements import ends_its_line, indentation
from npuify.rules.common.packages.import_guards import has_fallback, in_function
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.pytorch.removed import Removed
    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_CLEAR = re.compile(r"_\w*_|[a-z0-9]+_[a-z0-9_]+|\w{10,}")
_SHORT = (
    "lstsq",
    "symeig",
    "rfft(",
    "import rfft",
    "torch.ifft",
    "torch.fft(",
    ".eig(",
    ".solve(",
    "torch._six",
    "_six import",
    "import ffi",
    "transforms.scale(",
    "import scale",
)
"""Words for what is called by short names, and often without its module."""
_ASKS = re.compile(r"(?i)\bhasattr\(|version|torch\w*\s*[<>=]|\b_?(?:old|new|is|has|pt|py)_?torch|[<>=]\s*\(\d")
"""What a condition says that asks for the torch there is, or for a name of it."""
_HOLDERS = ("torch", "torchvision", "torchtext")
"""The packages whose names the table has; those beside torch are the ones that go with a torch."""
_ENDED = "torchtext"
"""A package that has no release for newer torches at all."""
_OF_TENSORS_ALONE = frozenset(
    ("lstsq", "symeig", "irfft", "gesv", "btrifact", "btrisolve", "potrf", "potri", "potrs", "trtrs")
)
"""Methods of old tensors that hardly anything else has: there an object that nothing is known of is one."""
_OF_OTHERS = re.compile(rb"\b(?:np|numpy|linalg|scipy|sp|la|fft|jnp|cupy|cp|fftpack|tf|signal)\Z")


_COMMON = frozenset(
    "_accumulate _all__ _decorator _functional _overrides _to_tensor c_type deprecated disable_log distributed "
    "distributeddataparallel import_module modulelist params_t pin_memory py_float py_int s_copy_ sequential "
    "serialization t_co t_dict t_stack t_tuple".split()
)
"""Last parts of names that stand in many files for something else: there the module tells."""


def _words() -> tuple[str, ...]:
    """One word for each name: the last part where it is no word of every day, else more of the name.

    What takes an argument that is edited is a reason to parse a file, too, which the words of NPU661 are not.
    """
    found = {*_SHORT, "getattr(transforms", *(f".{name}(" for name in _OF_TENSORS_ALONE)}
    for name, known in removed_names().items():
        if "(" in name:
            row = known.replacement
            if row is not None and (row.drop or row.argument):
                found.add(f"{name.partition('(')[0].rpartition('.')[2]}(")
            continue
        if name.startswith(_ENDED):
            found.add(_ENDED)
            continue
        *folders, parent, last = name.split(".")
        if last.lower() in _COMMON:
            found.add(f"{folders[-1]}.{parent}" if parent == "deprecated" else f"{parent}.{last}")
        else:
            found.add(last if _CLEAR.fullmatch(last.lower()) else name)
    return tuple(sorted({word.lower() for word in found}))


def _words_of_arguments() -> tuple[str, ...]:
    """One word for each argument: what takes it where that is no word of every day, else the argument."""
    found = set()
    for name in removed_names():
        bare, _, rest = name.partition("(")
        last = bare.rpartition(".")[2]
        parameter = rest.rstrip(")")
        if parameter:
            found.add(f"{last}(" if _CLEAR.fullmatch(last) else f"{parameter}=" if len(parameter) > 4 else bare)
    return tuple(sorted({word.lower() for word in found}))


def _is_of_others(lower: bytes, start: int, end: int) -> bool:
    """Whether a word is a function of NumPy's or SciPy's; see ``npuify.rules.text_checks``."""
    place = start if lower[start : start + 1] == b"." else start - 1
    return lower[place : place + 1] == b"." and _OF_OTHERS.search(lower, max(place - 12, 0), place) is not None


@rule(
    "NPU660",
    "gone-from-torch",
    Safety.SAFE,
    Severity.WARNING,
    words=_words(),
    skip_if=_is_of_others,
    evidence=Evidence.PACKAGE,
    source="the files of torch 1.1 to 2.14",
)
def gone_from_torch(
    node: ast.Import | ast.ImportFrom | ast.Attribute | ast.Call, file: PythonFile
) -> Iterator[Diagnostic]:
    """A name that an older torch has is gone from the torch that the release is made for.

    It is replaced where something else is the same; elsewhere the finding says what to use. Nothing is said where the
    torch aimed at still has the name, or where the program asks for it first.

    Before::

        import torch
        from torch._six import inf, int_classes
        torch.set_deterministic(True)
        values, vectors = torch.symeig(torch.eye(2), eigenvectors=True)

    After::

        import torch
        from torch import inf
        int_classes = int
        torch.use_deterministic_algorithms(True)
        values, vectors = torch.linalg.eigh(torch.eye(2), UPLO="U")
    """
    if isinstance(node, ast.Import):
        yield from _import(node, file)
    elif isinstance(node, ast.ImportFrom):
        yield from _import_from(node, file)
    elif isinstance(node, ast.Attribute):
        yield from _attribute(node, file)
    else:
        yield from _asked_for(node, file)


def _asked_for(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """``getattr(torch, "symeig")`` with nothing to fall back to, ``__import__("torch._six")``, and ``tensor.eig()``."""
    if getattr(node.func, "id", getattr(node.func, "attr", "")) in _IMPORTERS:
        yield from _imported_by_name(node, file)
        return
    if isinstance(node.func, ast.Attribute) and file.qualname(node.func) is None:
        gone = _gone(f"torch.Tensor.{node.func.attr}", file)
        if gone is not None and _is_of_tensor(node.func, file) and not _is_prepared(node, file):
            yield _report(node.func, gone, [], file)
        return
    if getattr(node.func, "id", "") != "getattr" or len(node.args) != 2 or node.keywords:
        return
    holder, word = node.args
    name = file.qualname(holder) or ""
    if name.partition(".")[0] not in _HOLDERS or _is_prepared(node, file):
        return
    if not isinstance(word, ast.Constant) or not isinstance(word.value, str):
        yield from _chosen_by_text(node, name, file)
        return
    gone = _gone(f"{name}.{word.value}", file)
    if gone is not None and not _is_prepared(node, file) and file.source.is_builtin("getattr", file.scope(node)):
        yield _report(node, gone, [], file, names=f"{name}.{word.value}")


def _chosen_by_text(node: ast.Call, module: str, file: PythonFile) -> Iterator[Diagnostic]:
    """``getattr(transforms, name)``, in a file with the text "Scale": both ends of what is chosen change together."""
    data = file.source.text.data
    for full, known in removed_names().items():
        holder, _, last = full.rpartition(".")
        if holder != module or not known.is_gone_from(file.release.torch):
            continue
        places = list(re.finditer(rb"(['\"])" + re.escape(last.encode()) + rb"\1", data))
        if not places:
            continue
        new = known.replacement.becomes if known.replacement is not None else ""
        same = new.rpartition(".")[2] if new.rpartition(".")[0] == module else ""
        edits = [file.edit(one.start() + 1, one.end() - 1, same) for one in places] if same else []
        yield _report(node, known, edits, file, names=full, safety=Safety.REVIEW)


_IMPORTERS = ("__import__", "import_module")


def _imported_by_name(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """``importlib.import_module("torch._six")``."""
    word = node.args[0] if node.args else None
    own = isinstance(node.func, ast.Name) and file.source.is_builtin("__import__", file.scope(node))
    if file.qualname(node.func) != "importlib.import_module" and not own:
        return
    if not isinstance(word, ast.Constant) or not isinstance(word.value, str):
        return
    gone = _gone(word.value, file) if word.value.partition(".")[0] in _HOLDERS else None
    if gone is not None and not _is_prepared(node, file):
        yield _report(node, gone, [], file, stops=True, names=word.value)


def _import(node: ast.Import, file: PythonFile) -> Iterator[Diagnostic]:
    for alias in node.names:
        gone = _gone(alias.name, file) if alias.name.partition(".")[0] in _HOLDERS else None
        if gone is None or _is_prepared(node, file):
            continue
        plain = alias.asname is None and gone.name == "torch._six"
        yield _report(alias, gone, [file.replace(alias, "torch")] if plain else [], file, stops=True)


def _import_from(node: ast.ImportFrom, file: PythonFile) -> Iterator[Diagnostic]:
    if node.level or (node.module or "").partition(".")[0] not in _HOLDERS:
        return
    found = {alias.name: _gone(f"{node.module}.{alias.name}", file) for alias in node.names}
    gone = {name: known for name, known in found.items() if known is not None}
    if not gone or _is_prepared(node, file):
        return
    edits, safety = _rewritten(node, gone, file)
    first = next(iter(gone.values()))
    names = ", ".join(f"{node.module}.{name}" for name in gone)
    yield _report(node, first, edits, file, stops=True, names=names, safety=safety)


def _rewritten(node: ast.ImportFrom, gone: dict[str, Removed], file: PythonFile) -> tuple[list[Edit], Safety]:
    """The statement as lines that import or define the same; none where one of its names has no replacement."""
    indent = indentation(node, file)
    if indent is None or not ends_its_line(node, file):
        return [], Safety.SAFE
    kept, lines = [], []
    for alias in node.names:
        known, name = gone.get(alias.name), alias.asname or alias.name
        row = known.replacement if known is not None and known.name.endswith(f".{alias.name}") else None
        if known is None:
            kept.append(alias.name if alias.asname is None else f"{alias.name} as {alias.asname}")
        elif row is None or not (row.becomes or row.module or row.value):
            return [], Safety.SAFE
        elif row.value:
            lines.append(f"{name} = {row.value}")
        elif row.module and "." not in row.module:
            lines.append(f"import {row.module}" + (f" as {name}" if name != row.module else ""))
        else:
            module, _, new = (row.becomes or row.module).rpartition(".")
            lines.append(f"from {module} import {new}" + (f" as {name}" if name != new else ""))
    if kept:
        lines.insert(0, f"from {node.module} import {', '.join(kept)}")
    lines.sort(key=lambda line: " = " in line)
    review = any(g.replacement is not None and g.replacement.safety == "review" for g in gone.values())
    text = f"{file.source.text.newline}{indent}".join(lines)
    return [file.replace(node, text)], Safety.REVIEW if review else Safety.SAFE


def _attribute(node: ast.Attribute, file: PythonFile) -> Iterator[Diagnostic]:
    parent = file.parent(node)
    if isinstance(parent, ast.Attribute):
        return
    name = file.qualname(node)
    if name is None or name.partition(".")[0] not in _HOLDERS or isinstance(node.ctx, ast.Store):
        return
    called = isinstance(parent, ast.Call) and parent.func is node
    gone = (_gone(f"{name}()", file, whole=True) if called else None) or _gone(name, file)
    if gone is None or _is_prepared(node, file) or _is_imported_anew(node, gone, file):
        return
    place, edits = (node, _renamed(node, name, gone, file)) if not called else _call(parent, node, name, gone, file)
    yield _report(place, gone, edits, file, names=name)


def _is_of_tensor(method: ast.Attribute, file: PythonFile) -> bool:
    """Whether what a method is called on is a tensor: by all that is known, or by the method's name alone."""
    if file.is_tensor(method.value):
        return True
    return method.attr in _OF_TENSORS_ALONE and imports_torch(file) and not file.values(method.value).is_known


def _is_imported_anew(node: ast.Attribute, gone: Removed, file: PythonFile) -> bool:
    """Whether an attribute belongs to a name that the edited import gives: ``container_abcs.Sequence``."""
    root: ast.expr = node
    while isinstance(root, ast.Attribute):
        root = root.value
    row = gone.replacement
    given = row is not None and bool(row.becomes or row.module or row.value)
    return given and isinstance(root, ast.Name) and file.qualname(root) == gone.name


def _renamed(node: ast.Attribute, name: str, gone: Removed, file: PythonFile) -> list[Edit]:
    row = gone.replacement
    if row is None or gone.name != name:
        return []
    if row.value:
        return [file.replace(node, row.value)]
    if not row.becomes:
        return []
    root: ast.expr = node
    while isinstance(root, ast.Attribute):
        if file.qualname(root) == row.becomes.rpartition(".")[0]:
            return [file.replace(node, f"{file.code(root)}.{row.becomes.rpartition('.')[2]}")]
        root = root.value
    if file.qualname(root) == row.becomes.rpartition(".")[0]:
        return [file.replace(node, f"{file.code(root)}.{row.becomes.rpartition('.')[2]}")]
    if file.qualname(root) == "torch" and row.becomes.startswith("torch."):
        return [file.replace(node, f"{file.code(root)}{row.becomes.removeprefix('torch')}")]
    return []


def _call(
    call: ast.AST | None, function: ast.Attribute, name: str, gone: Removed, file: PythonFile
) -> tuple[ast.AST, list[Edit]]:
    """Calls of functions of linear algebra, whose arguments moved with them."""
    assert isinstance(call, ast.Call)
    torch = file.code(function.value)
    if file.qualname(function.value) != "torch" or any(keyword.arg is None for keyword in call.keywords):
        return function, _renamed(function, name, gone, file)
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return function, []
    if name == "torch.matrix_rank" and len(call.args) == 1 and not given:
        return call, [file.replace(function, f"{torch}.linalg.matrix_rank")]
    if name == "torch.cholesky" and len(call.args) == 1 and not given:
        return call, [file.replace(function, f"{torch}.linalg.cholesky")]
    if name == "torch.symeig" and len(call.args) == 1 and set(given) <= {"eigenvectors", "upper"}:
        vectors, upper = given.get("eigenvectors"), given.get("upper")
        if isinstance(vectors, ast.Constant) and vectors.value is True:
            if upper is None or (isinstance(upper, ast.Constant) and isinstance(upper.value, bool)):
                half = "L" if isinstance(upper, ast.Constant) and not upper.value else "U"
                argument = file.code(call.args[0])
                return call, [
                    file.replace(
                        call,
                        f'{torch}.linalg.eigh({argument}, UPLO="{half}")',
                    )
                ]
    return function, _renamed(function, name, gone, file)


@rule(
    "NPU661",
    "argument-gone-from-torch",
    Safety.SAFE,
    Severity.WARNING,
    words=_words_of_arguments(),
    common_words=True,
    evidence=Evidence.PACKAGE,
    source="the files of torch 1.1 to 2.14",
)
def argument_gone_from_torch(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A keyword argument that a function or class of an older torch has is gone from the torch aimed at.

    It is called by its new name, or left out where nothing but what is printed depends on it; elsewhere the finding
    says what to use in its place. Nothing is said where the program asks for the torch there is.

    Before::

        import torch
        from torchvision.utils import save_image
        save_image(images, "images.png", normalize=True, range=(-1, 1))
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=3, verbose=True)

    After::

        import torch
        from torchvision.utils import save_image
        save_image(images, "images.png", normalize=True, value_range=(-1, 1))
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=3)
    """
    if not any(keyword.arg for keyword in node.keywords):
        return
    name = file.qualname(node.func) or ""
    if name.partition(".")[0] not in _HOLDERS:
        return
    for keyword in node.keywords:
        gone = _gone(f"{name}({keyword.arg})", file, whole=True) if keyword.arg else None
        if gone is not None and keyword_of(node, keyword.arg or "") is not None and not _is_prepared(node, file):
            edits = _of_argument(node, keyword, gone, file)
            yield _report(keyword.value, gone, edits, file, names=f"{keyword.arg}= of {name}")


def _of_argument(call: ast.Call, keyword: ast.keyword, gone: Removed, file: PythonFile) -> list[Edit]:
    """The argument by its new name, or left out."""
    row = gone.replacement
    if row is None:
        return []
    if row.argument:
        start = file.source.start(keyword)
        return [file.edit(start, start + len(keyword.arg or ""), row.argument)]
    edit = without_keyword(call, keyword, file) if row.drop else None
    return [edit] if edit is not None else []


def _gone(name: str, file: PythonFile, *, whole: bool = False) -> Removed | None:
    """What is known of a name that the torch aimed at lacks. ``whole``: this name itself, not what holds it."""
    ended = removed_names()[_ENDED]
    if name.partition(".")[0] == _ENDED and ended.is_gone_from(file.release.torch):
        return ended
    found = removed_name(name, file.release.torch)
    if found is None or (whole and found.name != name):
        return None
    row = removed_names().get(name)
    return row if row is not None and row.is_gone_from(file.release.torch) else found


def _is_prepared(node: ast.AST, file: PythonFile) -> bool:
    """Whether the program goes on without the name, or asks before it uses it."""
    return has_fallback(node, file) or any(
        isinstance(up, (ast.If, ast.IfExp)) and _ASKS.search(file.code(up.test)) for up in file.ancestors(node)
    )


def _report(
    node: ast.AST,
    gone: Removed,
    edits: list[Edit],
    file: PythonFile,
    *,
    stops: bool = False,
    names: str = "",
    safety: Safety | None = None,
) -> Diagnostic:
    row = gone.replacement
    what = names or gone.name
    last, version = "", gone.last.rpartition(".")[0]
    if gone.last and ", " in what:
        last = phrase("; torch {version} is the newest that has them", version=version)
    elif gone.last:
        last = phrase("; torch {version} is the newest that has it", version=version)
    told = phrase("torch {torch} has no {what}{last}", torch=file.release.torch, what=what, last=last)
    if gone.name.startswith("torchvision."):
        told = phrase("the torchvision of torch {torch} has no {what}", torch=file.release.torch, what=what)
    elif gone.name == _ENDED:
        told = phrase(
            "there is no torchtext for torch {torch}: its last release, 0.18, is built for torch 2.3",
            torch=file.release.torch,
        )
    elif gone.name.startswith("torchtext."):
        told = phrase("the torchtext of torch {torch} has no {what}", torch=file.release.torch, what=what)
    return file.report(
        node,
        told,
        edits=edits,
        safety=safety if edits else Safety.MANUAL,
        severity=Severity.ERROR if stops and not edits and not in_function(node, file) else None,
        subject=gone.name,
        advice=""
        if edits
        else row.advice
        if row is not None and row.advice
        else phrase(
            "look in the release notes of torch {rpartition} for what takes its place",
            rpartition=gone.first.rpartition(".")[0],
        ),
    )
