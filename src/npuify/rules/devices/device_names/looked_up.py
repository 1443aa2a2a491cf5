"""What is looked up by a device's type among words of Python's: ``dict(cuda=1)[x.device.type]``, attributes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from npuify.analysis.engine import Reach
from npuify.analysis.values import OBJECTS, UNKNOWN, Kind
from npuify.language import phrase
from npuify.model import Safety
from npuify.rules.devices.device_names.device_strings import is_type_of_torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

    Says = Callable[[ast.expr, PythonFile], bool]
    MakesEdits = Callable[[ast.expr, PythonFile], list[Edit]]

_ASKING = frozenset(("getattr", "hasattr"))
_TAKING = frozenset(("get", "pop", "setdefault"))
_CASES = {"upper": str.upper, "title": str.title, "capitalize": str.capitalize}
_RECORDS = frozenset(
    ("dict", "builtins.dict", "types.SimpleNamespace", "argparse.Namespace", "collections.OrderedDict")
)
"""What is made with its keys as keywords."""
_OF_TORCH = frozenset((Kind.TORCH_MODULE, Kind.TORCH_NAME, Kind.TENSOR, Kind.BATCH))


class _LookUp(NamedTuple):
    """What is asked, by which device's type, and how that spells ``cuda``."""

    holder: ast.expr | None
    kind: ast.expr
    word: str


def looked_up_by_type(
    node: ast.Call | ast.Subscript | ast.Dict, file: PythonFile, says_type: Says, as_cuda: MakesEdits
) -> Iterator[Diagnostic]:
    """The finding about a look-up by a device's type of what has ``cuda`` and no ``npu``, or where that is not known.

    Args:
        node: a call, a subscript, or a dictionary whose entries become arguments.
        file: where it stands.
        says_type: whether an expression may be a device's type.
        as_cuda: the edits that turn such an expression into one that says CUDA's word on an NPU.
    """
    found = _look_up(node, file)
    if found is None:
        return
    # Whether the key is a type takes the whole program to tell, and mostly what it is sought in is known at once.
    has = _has(found, file) if found.holder is not None else None
    if has is False or not says_type(found.kind, file):
        return
    edits = as_cuda(found.kind, file) if has else []
    yield file.report(
        found.kind,
        phrase("this is looked up by a device's type, and there is {word} only", word=found.word)
        if has
        else "this is looked up by a device's type; on an NPU it is another one",
        edits=edits,
        safety=Safety.SAFE if edits else Safety.MANUAL,
        subject="cuda",
        advice="" if edits else "see to it that what is looked up is there with npu in its name",
    )


def _look_up(node: ast.Call | ast.Subscript | ast.Dict, file: PythonFile) -> _LookUp | None:
    holder: ast.expr | None = None
    if isinstance(node, ast.Subscript):
        holder, key = node.value, node.slice
        if not isinstance(node.ctx, ast.Load):
            return None
        if isinstance(holder, ast.Call) and getattr(holder.func, "id", "") == "vars" and len(holder.args) == 1:
            holder = holder.args[0]
    elif isinstance(node, ast.Dict):
        around = file.parent(node)
        named = next((one for one in node.keys if one is not None and not isinstance(one, ast.Constant)), None)
        if not isinstance(around, ast.keyword) or around.arg is not None or named is None:
            return None
        key = named
    elif isinstance(node.func, ast.Name) and node.func.id in _ASKING and len(node.args) > 1:
        holder, key = node.args[:2]
    elif isinstance(node.func, ast.Attribute) and node.func.attr in _TAKING and node.args:
        holder, key = node.func.value, node.args[0]
    else:
        return None
    word = "cuda"
    if isinstance(key, ast.Call) and isinstance(key.func, ast.Attribute) and key.func.attr in _CASES and not key.args:
        word, key = _CASES[key.func.attr](word), key.func.value
    may_be_type = isinstance(key, (ast.Attribute, ast.Subscript, ast.Call))
    return _LookUp(holder, key, word) if may_be_type else None


def _has(asked: _LookUp, file: PythonFile) -> bool | None:
    """Whether something has CUDA's word and none for the NPU. False: it has both, or neither matters; None: unknown."""
    holder = asked.holder
    assert holder is not None
    values = file.values(holder)
    if values and all(value.kind in _OF_TORCH or value.name.startswith("torch.") for value in values):
        return False
    made = _made(holder, file)
    words = _words_of(made, file)
    if words is not None:
        return asked.word in words and asked.word.replace("cuda", "npu").replace("CUDA", "NPU") not in words
    if isinstance(made, ast.Dict) and made.keys:
        texts = [key.value for key in made.keys if isinstance(key, ast.Constant)]
        return False if {"cuda", "npu"} & set(map(str, texts)) or len(texts) == len(made.keys) else None
    if isinstance(made, ast.DictComp) and is_type_of_torch(made.key, file):
        said = file.values(made.key, Reach.PROGRAM).of_kind(Kind.DEVICE_STRING)
        # In the automatic style the words of the program stay.
        return None if file.plan.style == "auto" and any(word.name for word in said) else False
    if isinstance(holder, ast.Name) and _is_filled_by_type(holder, file):
        return False
    owners = values.where(lambda value: value.kind is Kind.CLASS or value.kind in OBJECTS)
    if owners and all(value.definition is not None for value in owners):
        model = file.reaching(Reach.PROGRAM)
        other = asked.word.replace("cuda", "npu").replace("CUDA", "NPU")
        here, there = (model.attribute(owners, word, file.model).without(UNKNOWN) for word in (asked.word, other))
        return bool(here) and not there if here or there else None
    return None


def _made(node: ast.expr, file: PythonFile) -> ast.expr | None:
    """How something is made, where one statement does it."""
    if not isinstance(node, ast.Name):
        return node
    given = file.assigned(node)
    return given[0] if len(given) == 1 else None


def _words_of(made: ast.expr | None, file: PythonFile) -> list[str] | None:
    """The keywords that ``dict(cuda=1)`` is made with; None for anything else."""
    if not isinstance(made, ast.Call) or not made.keywords or any(one.arg is None for one in made.keywords):
        return None
    name = file.qualname(made.func) or getattr(made.func, "id", "")
    return [str(one.arg) for one in made.keywords] if name in _RECORDS else None


def _is_filled_by_type(holder: ast.Name, file: PythonFile) -> bool:
    """Whether all that is put into a table is put there by devices' types, too."""
    keys = []
    for node in file.model.references(holder.id):
        parent = file.model.parent(node)
        if isinstance(parent, ast.Subscript) and parent.value is node and isinstance(parent.ctx, ast.Store):
            keys.append(parent.slice)
    return bool(keys) and all(is_type_of_torch(key, file) for key in keys)
