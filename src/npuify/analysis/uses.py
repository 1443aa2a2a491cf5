"""What a value is used for: whether a string reaches a device, a comparison with one, a path, a message or a key."""

from __future__ import annotations

import ast
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from npuify.analysis import device_names
from npuify.analysis.device_names import names_device
from npuify.analysis.flows import flow_of
from npuify.analysis.libraries import is_device_text
from npuify.analysis.values import Kind

if TYPE_CHECKING:
    from npuify.analysis.engine import Engine
    from npuify.analysis.files import FileModel
    from npuify.analysis.flows import Occurrence
    from npuify.analysis.values import Place, Step


class Use(Enum):
    """What a value is used for."""

    DEVICE = "a device"
    COMPARED = "a comparison with a device"
    DEVICE_KEY = "a key of a table of devices"
    OPTION = "a default or choice of an option"
    KEY = "a key or name"
    PATH = "a path"
    MESSAGE = "a message"
    OTHER = "something else"
    """Known to be no device: an argument of another framework, a statement of its own."""
    UNKNOWN = "unknown"


DEVICE_USES = frozenset((Use.DEVICE, Use.COMPARED))
OTHER_USES = frozenset((Use.KEY, Use.PATH, Use.MESSAGE, Use.OTHER))


class Destination(NamedTuple):
    """One place that a value reaches. ``sure`` is false where only a name tells what it does there."""

    use: Use
    place: Place
    what: str
    steps: tuple[Step, ...]
    sure: bool = True


class Uses(NamedTuple):
    """All places that a value reaches; ``is_whole`` says that it was followed everywhere."""

    destinations: tuple[Destination, ...]
    is_whole: bool

    @property
    def reaches_device(self) -> bool:
        """Whether the value surely is used as a device somewhere."""
        return any(one.use in DEVICE_USES for one in self.destinations)

    @property
    def is_no_device(self) -> bool:
        """Whether all that is done with the value is known, and none of it is with a device."""
        return self.is_whole and bool(self.destinations) and all(one.use in OTHER_USES for one in self.destinations)


def uses_of(node: ast.expr, file: FileModel, model: Engine) -> Uses:
    """What the value of an expression is used for, wherever it goes."""
    flow = flow_of(node, file, model)
    found: dict[tuple[Use, Place], Destination] = {}
    whole = flow.is_whole
    for occurrence in flow.occurrences:
        seen = _use_at(occurrence, model)
        if seen is None:
            continue
        use, what, sure = seen
        place = occurrence.file.place(occurrence.node)
        found.setdefault((use, place), Destination(use, place, what, tuple(occurrence.step.chain()), sure))
    return Uses(tuple(found.values()), whole)


Seen = tuple[Use, str, bool]


def _use_at(here: Occurrence, model: Engine) -> Seen | None:
    """What is done with a value where an expression has it; None where it is only handed on."""
    node, file = here.node, here.file
    parent = file.parent(node)
    if isinstance(parent, ast.keyword):
        call = file.parent(parent)
        return _of_keyword(parent, call, file, model) if isinstance(call, ast.Call) else None
    if isinstance(parent, ast.Call):
        return None if node is parent.func else _of_argument(node, parent, file, model)
    if isinstance(parent, ast.Compare):
        return _of_comparison(node, parent, file, model)
    if isinstance(parent, ast.Subscript) and node is parent.slice:
        return Use.KEY, f"a key of {file.code(parent.value)}", True
    if isinstance(parent, ast.Dict):
        return _of_key(node, parent)
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Div):
        return Use.PATH, "a part of a path", True
    if isinstance(parent, ast.Raise):
        return Use.MESSAGE, "raised", True
    if isinstance(parent, ast.Expr):
        return Use.OTHER, "a statement of its own", True
    if isinstance(parent, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
        return _by_target(parent)
    if isinstance(parent, ast.Attribute):
        return None if here.depth else _of_attribute(parent, file)
    if isinstance(parent, ast.Return):
        function = file.frame(node)
        name = getattr(function, "name", "")
        return (Use.DEVICE, f"returned by {name}()", False) if device_names.DEVICE_FUNCTION.search(name) else None
    return None


def _by_target(statement: ast.Assign | ast.AnnAssign | ast.NamedExpr) -> Seen | None:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    for target in targets:
        name = target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
            name = str(target.slice.value)
        if names_device(name):
            return Use.DEVICE, f"assigned to {name}", False
    return None


def _of_attribute(attribute: ast.Attribute, file: FileModel) -> Seen | None:
    call = file.parent(attribute)
    if isinstance(call, ast.Call) and call.func is attribute and attribute.attr == "join":
        return Use.MESSAGE, "joins strings", True
    return None


def _of_argument(node: ast.expr, call: ast.Call, file: FileModel, model: Engine) -> Seen | None:
    word = _word(call)
    values = model.values(call.func, file)
    for value in values:
        if value.kind is Kind.FUNCTION or (value.kind is Kind.CLASS and value.definition is not None):
            return None  # what the function does with it is found where it reads its parameter
    for value in values:
        seen = _of_library(value.name, value.of is not None, word) if value.kind is not Kind.UNKNOWN else None
        if seen is not None:
            # What a loader yields is mostly a tensor.
            return seen if value.of is None or value.of.kind is not Kind.BATCH else (*seen[:2], False)
    if word in device_names.OPTIONS:
        return Use.OPTION, f"{word}()", False
    if word in ("str", "list", "tuple", "set", "sorted", "frozenset", "dict", "getattr", "next", "cast"):
        return None
    if word in device_names.DEVICE_METHODS and isinstance(call.func, ast.Attribute):
        return Use.DEVICE, f".{word}()", not values.is_known
    if word in device_names.MESSAGES:
        return Use.MESSAGE, f"{word}()", False
    if word in device_names.PATHS:
        return Use.PATH, f"{word}()", False
    if word in device_names.NAMES:
        return Use.KEY, f"{word}()", False
    if device_names.DEVICE_FUNCTION.search(word):
        return Use.DEVICE, f"{word}()", False
    return Use.UNKNOWN, f"given to {file.code(call.func)}()", True


def _of_library(name: str, is_method: bool, word: str) -> Seen | None:
    """What a function of a package does with an argument."""
    if name.startswith("torch."):
        if name.startswith("torch.nn.Module.") and word not in device_names.DEVICE_METHODS:
            return Use.KEY, f"{name}()", True
        if name.startswith(("torch.ops.", "torch.utils.cpp_extension.", "torch.save")):
            return Use.PATH, f"{name}()", True
        return Use.DEVICE, f"{name}()", True
    for start, what in device_names.PACKAGES.items():
        if name.startswith(start):
            return Use(_USE_OF[what]), f"{name}()", True
    if name.startswith("builtins.") and not is_method:
        if word in device_names.MESSAGES or word in ("print", "input"):
            return Use.MESSAGE, f"{word}()", True
        if word in device_names.NAMES:
            return Use.KEY, f"{word}()", True
        if word == "open":
            return Use.PATH, "open()", True
    return None


_USE_OF = {
    "path": Use.PATH.value,
    "message": Use.MESSAGE.value,
    "key": Use.KEY.value,
    "other": Use.OTHER.value,
}


def _of_keyword(keyword: ast.keyword, call: ast.Call, file: FileModel, model: Engine) -> Seen | None:
    name = keyword.arg
    if name is None:
        return None
    values = model.values(call.func, file)
    is_torch = any(value.name.startswith("torch.") for value in values)
    if names_device(name):
        return Use.DEVICE, f"{name}= of {file.code(call.func)}()", is_torch
    if any(value.kind in (Kind.FUNCTION, Kind.CLASS) and value.definition is not None for value in values):
        return None
    word = _word(call)
    if name == "type" and any(value.name == "torch.device" for value in values):
        return Use.DEVICE, "type= of torch.device()", True
    if word in device_names.OPTIONS and name in ("default", "choices", "type", "const", "default_factory", "values"):
        return Use.OPTION, f"{name}= of {word}()", True
    if name in device_names.PATH_KEYWORDS:
        return Use.PATH, f"{name}=", False
    if name in device_names.MESSAGE_KEYWORDS:
        return Use.MESSAGE, f"{name}=", False
    if word == "dict":
        return None
    return Use.UNKNOWN, f"{name}= of {file.code(call.func)}()", True


def _of_comparison(node: ast.expr, compare: ast.Compare, file: FileModel, model: Engine) -> Seen:
    others = [side for side in (compare.left, *compare.comparators) if side is not node]
    for side in others:
        values = model.values(side, file)
        if values.of_kind(Kind.DEVICE) or any(not value.name for value in values.of_kind(Kind.DEVICE_STRING)):
            return Use.COMPARED, f"compared with {file.code(side)}", True
        name = side.attr if isinstance(side, ast.Attribute) else getattr(side, "id", "")
        if names_device(name):
            return Use.COMPARED, f"compared with {file.code(side)}", False
        if isinstance(side, (ast.Tuple, ast.List, ast.Set)) and lists_devices(side.elts):
            return Use.COMPARED, f"compared with {file.code(side)}", True
    return Use.UNKNOWN, f"compared in {file.code(compare)}", True


def _of_key(node: ast.expr, table: ast.Dict) -> Seen | None:
    if node in table.keys:
        keys = [key for key in table.keys if key is not None]
        return (Use.DEVICE_KEY if lists_devices(keys) else Use.KEY), "a key of a table", True
    key = table.keys[table.values.index(node)] if node in table.values else None
    if isinstance(key, ast.Constant) and isinstance(key.value, str) and names_device(key.value):
        return Use.DEVICE, f"the entry {key.value!r}", False
    return None


def lists_devices(elements: list[ast.expr]) -> bool:
    """Whether strings are names of devices, one of them another than CUDA."""
    words = [item.value for item in elements if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    return (
        len(words) >= 2
        and all(is_device_text(word) for word in words)
        and any(not word.lower().startswith(("cuda", "hip")) for word in words)
    )


def _word(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
