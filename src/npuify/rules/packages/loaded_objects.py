"""Files that hold more than tensors: since torch 2.6 ``torch.load`` refuses them unless it is told otherwise."""

from __future__ import annotations

import ast
import re
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Final

from npuify.analysis.values import MODELS
from npuify.knowledge.pytorch.removed import numbers
from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.edits.call_edits import add_argument, has_unknown_arguments
from npuify.rules.context import PythonFile
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.analysis.project import ProjectIndex
    from npuify.rules.diagnostic import Diagnostic
    from npuify.rules.run import Run

_SINCE: Final = (2, 6)
_OF_MODULES: Final = frozenset(
    "eval train parameters named_parameters state_dict load_state_dict forward zero_grad modules named_modules "
    "children requires_grad_ apply".split()
)
"""Methods that modules have, and neither tensors nor dictionaries."""
_OF_TABLES: Final = frozenset("keys items values get pop update copy setdefault".split())
_OPTIONS: Final = re.compile(r"(?i)(?:.*_)?(?:args?|arguments|opts?|options|flags|hparams|config|cfg)")
"""What programs call the object that holds their options."""
_MOST_FILES: Final = 12
"""Files that save; of a project with more, those of the file itself alone count."""
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class _Object(Enum):
    """What is in a file besides tensors."""

    MODULE = "module"
    OPTIONS = "options"


@rule(
    "NPU663",
    "load-of-objects",
    Safety.SAFE,
    Severity.ERROR,
    words=("torch.load(",),
    evidence=Evidence.DOCUMENTED,
    source="release notes of PyTorch 2.6: weights_only of torch.load is True where it is not given",
)
def load_of_objects(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """Since torch 2.6 ``torch.load`` takes nothing but tensors and plain containers, unless told otherwise.

    ``weights_only=False`` was the default before.

    Told where what is loaded surely holds more: it is used as a module, or a file of the project saves a module or the
    program's options under the keys that are read. Such a file runs code when it is loaded: only ever load your own.

    Before::

        import torch
        model = torch.load("model.pt", map_location="cpu")
        model.eval()

    After::

        import torch
        model = torch.load("model.pt", map_location="cpu", weights_only=False)
        model.eval()
    """
    if file.qualname(node.func) != "torch.load" or numbers(file.release.torch) < _SINCE:
        return
    if has_unknown_arguments(node) or any(keyword.arg == "weights_only" for keyword in node.keywords):
        return
    what = _object_in(node, file) or _loaded_again(node, file)
    if what is None or file.project.files_with(b"add_safe_globals"):
        return
    yield file.report(
        node,
        phrase("torch {torch} loads no module without weights_only=False", torch=file.release.torch)
        if what is _Object.MODULE
        else phrase(
            "the file holds the program's options: torch {torch} loads no such object without weights_only=False",
            torch=file.release.torch,
        ),
        edits=[add_argument(node, "weights_only=False", file)],
        subject="torch.load",
    )


def _object_in(call: ast.Call, file: PythonFile) -> _Object | None:
    """What surely is in the file that is loaded, besides tensors; None where that is not known."""
    parent = file.parent(call)
    if isinstance(parent, ast.Attribute):
        return _Object.MODULE if parent.attr in _OF_MODULES else None
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1 or parent.value is not call:
        return None
    uses = list(_uses(parent.targets[0], call, file))
    # What one key leads to is a module, whatever else is done with the table: ckpt["model"].float().state_dict().
    if any(_leads_to_module(use, file) for use in uses):
        return _Object.MODULE
    keys = set()
    is_module = False
    for use in uses:
        up = file.parent(use)
        if isinstance(up, ast.Attribute) and up.value is use:
            if up.attr in _OF_TABLES:
                return None
            is_module = is_module or up.attr in _OF_MODULES
        elif isinstance(up, ast.Call) and up.func is use:
            is_module = True
        elif isinstance(up, ast.Subscript) and up.value is use:
            if not isinstance(up.slice, ast.Constant) or not isinstance(up.slice.value, str):
                return None
            keys.add(up.slice.value)
            outer = file.parent(up)
            if isinstance(outer, ast.Attribute) and _OPTIONS.fullmatch(up.slice.value) and outer.attr not in _OF_TABLES:
                return _Object.OPTIONS
        elif isinstance(up, ast.Call) and getattr(up.func, "attr", "") == "load_state_dict":
            return None
    if is_module and not keys:
        return _Object.MODULE
    if keys and any(keys <= saved for saved in _saved(file)):
        return _Object.OPTIONS
    return None


def _loaded_again(call: ast.Call, file: PythonFile) -> _Object | None:
    """What is in the file by another call of the same function that loads the same."""
    if not call.args:
        return None
    loaded, scope = file.code(call.args[0]), file.scope(call)
    for other in file.nodes_on_lines_with("load"):
        if other is not call and isinstance(other, ast.Call) and other.args and file.scope(other) is scope:
            if file.code(other.args[0]) == loaded and file.qualname(other.func) == "torch.load":
                what = _object_in(other, file)
                if what is not None:
                    return what
    return None


def _leads_to_module(table: ast.expr, file: PythonFile) -> bool:
    """Whether an entry of what was loaded is called as only modules are, if need be after other calls."""
    entry = file.parent(table)
    if not isinstance(entry, ast.Subscript) or entry.value is not table:
        return False
    above = file.parent(entry)
    while isinstance(above, ast.Attribute):
        if above.attr in _OF_MODULES:
            return True
        called = file.parent(above)
        if not isinstance(called, ast.Call):
            return False
        above = file.parent(called)
    return False


def _uses(target: ast.expr, call: ast.Call, file: PythonFile) -> Iterator[ast.expr]:
    """Where a name, or an attribute of ``self``, that was assigned to is read in the same function or class."""
    text = file.code(target)
    word = target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else ""
    if not word or (isinstance(target, ast.Attribute) and text != f"self.{word}"):
        return
    around = (*_FUNCTIONS, ast.Module) if isinstance(target, ast.Name) else (ast.ClassDef, ast.Module)
    home = next((up for up in file.ancestors(call) if isinstance(up, around)), None)
    for one in file.nodes_on_lines_with(word):
        is_read = isinstance(one, (ast.Name, ast.Attribute)) and isinstance(one.ctx, ast.Load)
        if is_read and isinstance(one, type(target)) and file.code(one) == text:
            if next((up for up in file.ancestors(one) if isinstance(up, around)), None) is home:
                yield one


def _saved(file: PythonFile) -> list[frozenset[str]]:
    """The keys of each dictionary with an object in it that the project saves."""
    return [*_saved_in(file), *file.project.once("tables-of-objects", partial(_saved_by_project, file.run))]


def _saved_by_project(run: Run, project: ProjectIndex) -> list[frozenset[str]]:
    saving = [one for one in project.files_with(b"torch.save(") if one.endswith(".py")]
    found: list[frozenset[str]] = []
    for relative in saving if len(saving) <= _MOST_FILES else ():
        file = PythonFile.of_project(relative, run._replace(project=project))
        found += _saved_in(file) if file is not None else []
    return found


def _saved_in(file: PythonFile) -> list[frozenset[str]]:
    known: list[frozenset[str]] | None = file.recall("tables-of-objects-here")
    if known is None:
        known = []
        for call in file.nodes_on_lines_with("save"):
            if isinstance(call, ast.Call) and file.qualname(call.func) == "torch.save" and call.args:
                table = _table(call.args[0], file)
                if table is not None and any(_is_object(value, file) for value in table.values):
                    keys = [one.value for one in table.keys if isinstance(one, ast.Constant)]
                    known.append(frozenset(key for key in keys if isinstance(key, str)))
        file.remember("tables-of-objects-here", known)
    return known


def _table(node: ast.expr, file: PythonFile) -> ast.Dict | None:
    if isinstance(node, ast.Name):
        bound = file.assigned(node)
        return bound[0] if len(bound) == 1 and isinstance(bound[0], ast.Dict) else None
    return node if isinstance(node, ast.Dict) else None


def _is_object(node: ast.expr, file: PythonFile) -> bool:
    """Whether a value is a module, or the object that holds the program's options: its attributes are read."""
    if isinstance(node, ast.Name) and _OPTIONS.fullmatch(node.id):
        return any(
            isinstance(one, ast.Attribute)
            and isinstance(one.value, ast.Name)
            and one.value.id == node.id
            and one.attr not in _OF_TABLES
            for one in file.nodes_on_lines_with(node.id)
        ) and all(value is None or _is_parsed(value) for value in file.assigned(node))
    return isinstance(node, (ast.Name, ast.Attribute)) and file.values(node).only(*MODELS)


def _is_parsed(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and getattr(value.func, "attr", "") in ("parse_args", "parse_known_args")
