"""Where a value goes: does it reach a device, or is it a path, a message, a key?

The question is answered by walking outward from an expression to the call, comparison, assignment or default that
takes it, and, for a name, by looking how the file uses that name.
"""

from __future__ import annotations

import ast
import re
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from npuify.rules.context import PythonFile


class Use(Enum):
    """What a value is used for."""

    DEVICE = "device"
    OTHER = "other"
    """A path, a message, a key, a word in a regular expression: known not to be a device."""
    DEVICE_KEY = "device key"
    """A key of a table whose keys are device types."""
    UNKNOWN = "unknown"


DEVICE_NAME = re.compile(
    r"(?:^|_)(?:devices?|dev|device_?(?:type|str|string|name|id|ids|map|target|placement|kind)s?|map_?location"
    r")(?:_?\d+)?_?$",
    re.IGNORECASE,
)
"""Identifiers that name a device: ``device``, ``model_device``, ``device_type``, ``map_location``."""

DEVICE_STRING = re.compile(
    r"(?:cpu|cuda|mps|xpu|npu|hpu|mlu|ipu|xla|hip|meta|musa|sdaa|maia|privateuseone)(?::\d+)?", re.IGNORECASE
)

_DEVICE_FUNCTION = re.compile(r"(?:^|_)(?:device|devices|device_type|autocast|map_location)(?:_|$)|Device", re.ASCII)
_DEVICE_METHODS = frozenset(("to", "to_empty", "cuda", "npu", "autocast", "pin_memory"))
_NO_DEVICE_METHODS = frozenset(
    (
        "join joinpath exists glob rglob open write info debug warning warn error exception critical log print "
        "with_name with_suffix search match compile findall sub setenv getenv append_text add_scalar "
        "set_description set_postfix add_marker mark import_module find_spec"
    ).split()
)
_NO_DEVICE_FUNCTIONS = frozenset(
    (
        "print open Path PurePath join hasattr getattr setattr delattr isinstance input format len print_rank_0 "
        "Popen RuntimeError ValueError Exception NotImplementedError AssertionError warn import_module find_spec "
        "getenv Extension CUDAExtension load Command"
    ).split()
)
_NO_DEVICE_KEYWORDS = frozenset(
    (
        "help name description title label msg message prefix suffix path file filename cwd metavar dest env doc "
        "reason tag tags group project id key"
    ).split()
)
_NO_DEVICE_NAME = re.compile(r"accelerator|backend|platform|strategy|registry", re.IGNORECASE)
"""Names of frameworks' own registries: their values happen to be called like devices."""
_OPTION_CALLS = frozenset(
    (
        "add_argument",
        "option",
        "argument",
        "Option",
        "Argument",
        "Choice",
        "field",
        "Field",
        "DEFINE_string",
        "DEFINE_enum",
        "add_option",
    )
)
_STRING_TESTS = frozenset(("startswith", "endswith", "__eq__", "__contains__", "find", "count", "split", "index"))
_MAX_FLOW = 2


def is_device_name(name: str) -> bool:
    """Whether an identifier names a device."""
    return DEVICE_NAME.search(name) is not None


def is_device_expression(node: ast.AST | None, file: PythonFile) -> bool:
    """Whether an expression denotes a device or its type: ``x.device``, ``device.type``, ``str(args.device)``."""
    if isinstance(node, ast.Name):
        return is_device_name(node.id) or _bound_to_device(node, file)
    if isinstance(node, ast.Attribute):
        if node.attr == "type":
            return is_device_expression(node.value, file) or is_device_call(node.value, file)
        return is_device_name(node.attr)
    if isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Name) and function.id in ("str", "repr", "getattr") and node.args:
            if function.id == "getattr" and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
                word = node.args[1].value
                if word == "type":
                    return is_device_expression(node.args[0], file)
                return isinstance(word, str) and is_device_name(word)
            return is_device_expression(node.args[0], file)
        if isinstance(function, ast.Attribute) and function.attr in (
            "lower",
            "split",
            "strip",
            "get",
            "partition",
            "pop",
        ):
            if function.attr in ("get", "pop") and node.args and isinstance(node.args[0], ast.Constant):
                return isinstance(node.args[0].value, str) and is_device_name(node.args[0].value)
            return is_device_expression(function.value, file)
        return is_device_call(node, file)
    if isinstance(node, ast.Subscript):
        key = node.slice
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            return is_device_name(key.value)
        return is_device_expression(node.value, file)
    if isinstance(node, ast.BoolOp):
        return any(is_device_expression(value, file) for value in node.values)
    return False


def is_device_call(node: ast.AST, file: PythonFile) -> bool:
    """Whether a call returns a device, by its name: ``torch.device(…)``, ``get_device()``."""
    if not isinstance(node, ast.Call):
        return False
    name = file.qualname(node.func)
    if name == "torch.device":
        return True
    last = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return bool(_DEVICE_FUNCTION.search(last)) and "count" not in last and "properties" not in last


def _bound_to_device(node: ast.Name, file: PythonFile) -> bool:
    found = file.scope(node).lookup(node.id)
    if found is None:
        return False
    _, bindings = found
    return any(
        binding.kind == "assign"
        and isinstance(binding.value, (ast.Call, ast.Attribute))
        and (
            is_device_call(binding.value, file)
            if isinstance(binding.value, ast.Call)
            else (binding.value.attr == "type" and is_device_expression(binding.value.value, file))
            or binding.value.attr in ("device", "device_type")
        )
        for binding in bindings
    )


def use_of(node: ast.expr, file: PythonFile, flow: int = 0) -> Use:
    """What the value of ``node`` is used for. ``flow`` counts how many names have been followed already."""
    current: ast.AST = node
    for parent in file.ancestors(node):
        answer = _step(current, parent, file, flow)
        if answer is not None:
            return answer
        current = parent
    return Use.UNKNOWN


def _step(current: ast.AST, parent: ast.AST, file: PythonFile, flow: int) -> Use | None:
    """The use that ``parent`` makes of ``current``; None where it only hands the value on."""
    if isinstance(parent, ast.IfExp):
        return Use.UNKNOWN if current is parent.test else None
    if isinstance(parent, (ast.BoolOp, ast.NamedExpr, ast.Starred, ast.FormattedValue, ast.JoinedStr, ast.Await)):
        if isinstance(parent, ast.NamedExpr) and is_device_name(parent.target.id):
            return Use.DEVICE
        return None
    if isinstance(parent, (ast.List, ast.Tuple, ast.Set)):
        return _in_display(current, parent, file, flow)
    if isinstance(parent, ast.Dict):
        return _in_dict(current, parent, file)
    if isinstance(parent, ast.Subscript):
        if current is parent.slice:
            base = file.qualname(parent.value) or ""
            if base.endswith(".Literal"):
                return None
            return Use.OTHER
        return None if isinstance(current, (ast.Dict, ast.List, ast.Tuple)) else Use.UNKNOWN
    if isinstance(parent, ast.keyword):
        return _in_keyword(parent, file, flow)
    if isinstance(parent, ast.Call):
        return _in_call(current, parent, file, flow)
    if isinstance(parent, ast.Attribute):
        return None
    if isinstance(parent, ast.Compare):
        return _in_compare(current, parent, file)
    if isinstance(parent, ast.BinOp):
        if isinstance(parent.op, ast.Div):
            return Use.OTHER
        return None
    if isinstance(parent, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
        if isinstance(parent, ast.AnnAssign) and _literal_of_devices(parent.annotation):
            return Use.DEVICE
        return _assigned(targets, file, flow)
    if isinstance(parent, ast.arguments):
        return _default(current, parent, file, flow)
    if isinstance(parent, (ast.Return, ast.Lambda)):
        for up in file.ancestors(parent):
            if isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef)):
                return Use.DEVICE if _DEVICE_FUNCTION.search(up.name) else Use.UNKNOWN
        return Use.UNKNOWN
    if isinstance(parent, ast.MatchValue):
        for up in file.ancestors(parent):
            if isinstance(up, ast.Match):
                return Use.DEVICE if is_device_expression(up.subject, file) else Use.UNKNOWN
        return Use.UNKNOWN
    if isinstance(parent, (ast.For, ast.AsyncFor, ast.comprehension)):
        return Use.DEVICE if isinstance(parent.target, ast.Name) and is_device_name(parent.target.id) else Use.UNKNOWN
    if isinstance(parent, ast.Expr):
        return Use.OTHER
    if isinstance(parent, ast.Raise):
        return Use.OTHER
    if isinstance(parent, (ast.stmt, ast.mod)):
        return Use.UNKNOWN
    return None


def _literal_of_devices(annotation: ast.expr | None) -> bool:
    """Whether an annotation is ``Literal["cuda", "cpu"]``, also within ``Optional`` or a union."""
    return annotation is not None and any(
        isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Tuple) and _all_devices(part.slice.elts)
        for part in ast.walk(annotation)
    )


def _in_display(current: ast.AST, parent: ast.List | ast.Tuple | ast.Set, file: PythonFile, flow: int) -> Use | None:
    if _is_key(parent, file):
        return Use.OTHER
    if _all_devices(parent.elts):
        return Use.DEVICE
    outer = file.parent(parent)
    if isinstance(outer, ast.Assign) and isinstance(parent, ast.Tuple):
        position = next(index for index, element in enumerate(parent.elts) if element is current)
        targets = [target for target in outer.targets if isinstance(target, ast.Tuple)]
        if targets and all(len(target.elts) == len(parent.elts) for target in targets):
            return _assigned([target.elts[position] for target in targets], file, flow)
    if any((file.qualname(_callee(element)) or "").startswith("torch.cuda.") for element in parent.elts):
        return Use.DEVICE
    return None


def _callee(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def _all_devices(elements: Iterable[ast.expr]) -> bool:
    """Whether a display lists device names, one of them another than CUDA."""
    words = [element.value for element in elements if isinstance(element, ast.Constant)]
    strings = [word for word in words if isinstance(word, str)]
    return (
        len(strings) >= 2
        and all(DEVICE_STRING.fullmatch(word) for word in strings)
        and any(not word.lower().startswith(("cuda", "hip")) for word in strings)
    )


_FALLBACK_KEYS = ("default", "any", "else", "other", "*")


def device_table_entry(node: ast.AST, file: PythonFile) -> tuple[ast.expr, ast.Dict] | None:
    """The key and the table, where ``node`` stands in the value of a device table's entry for cuda."""
    current = node
    for up in file.ancestors(node):
        if isinstance(up, ast.Dict) and current in up.values:
            key = up.keys[up.values.index(current)]
            if isinstance(key, ast.Constant) and key.value == "cuda" and is_device_table(up):
                return key, up
        if isinstance(up, (ast.stmt, ast.Lambda)):
            return None
        current = up
    return None


def is_device_table(table: ast.Dict) -> bool:
    """Whether the keys of a dict are device types."""
    keys = [key for key in table.keys if isinstance(key, ast.Constant) and key.value not in _FALLBACK_KEYS]
    more = len(table.keys) > len(keys)
    return _all_devices(keys) or (more and [key.value for key in keys] == ["cuda"])


def looked_up_by_device(table: ast.Dict, file: PythonFile) -> bool:
    """Whether the table is looked up with a device's type in this file, directly or by its name."""
    parent = file.parent(table)
    if _is_look_up(table, parent, file):
        return True
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
        name = parent.targets[0].id
        return any(
            isinstance(node, ast.Name) and node.id == name and _is_look_up(node, file.parent(node), file)
            for node in file.nodes_on_lines_with(name)
        )
    return False


def _is_look_up(node: ast.AST, parent: ast.AST | None, file: PythonFile) -> bool:
    if isinstance(parent, ast.Subscript) and parent.value is node:
        return is_device_expression(parent.slice, file)
    if isinstance(parent, ast.Attribute) and parent.attr == "get":
        call = file.parent(parent)
        return isinstance(call, ast.Call) and bool(call.args) and is_device_expression(call.args[0], file)
    return False


def _is_key(node: ast.AST, file: PythonFile) -> bool:
    parent = file.parent(node)
    return isinstance(parent, ast.Dict) and node in parent.keys


def _in_dict(current: ast.AST, parent: ast.Dict, file: PythonFile) -> Use | None:
    for key, value in zip(parent.keys, parent.values, strict=True):
        if value is current:
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                if is_device_name(key.value):
                    return Use.DEVICE
                if DEVICE_STRING.fullmatch(key.value):
                    return None
            return None if _takes_devices(parent, file) else Use.UNKNOWN
        if key is current:
            if _takes_devices(parent, file):
                return Use.DEVICE
            return Use.DEVICE_KEY if is_device_table(parent) else Use.OTHER
    return Use.UNKNOWN


def _takes_devices(node: ast.Dict, file: PythonFile) -> bool:
    """Whether a dict maps devices to devices: it is passed as ``map_location`` or ``device_map``, or so named."""
    parent = file.parent(node)
    if isinstance(parent, ast.Dict) and node in parent.values:
        # device_maps={"worker": {"cuda:0": "cuda:1"}} of RPC
        outer = file.parent(parent)
        return isinstance(outer, ast.keyword) and outer.arg == "device_maps"
    if isinstance(parent, ast.keyword):
        return parent.arg in ("map_location", "device_map")
    if isinstance(parent, ast.Assign):
        return any(
            isinstance(target, ast.Name) and target.id in ("map_location", "device_map") for target in parent.targets
        )
    if isinstance(parent, ast.Call) and len(parent.args) > 1 and parent.args[1] is node:
        set_device_map = isinstance(parent.func, ast.Attribute) and parent.func.attr == "set_device_map"
        return set_device_map or file.qualname(parent.func) == "torch.load"
    return False


def _in_keyword(keyword: ast.keyword, file: PythonFile, flow: int) -> Use | None:
    call = file.parent(keyword)
    name = keyword.arg
    if name is None:
        return Use.UNKNOWN
    if is_device_name(name):
        return Use.DEVICE
    if isinstance(call, ast.Call):
        if name == "type" and file.qualname(call.func) == "torch.device":
            return Use.DEVICE
        function = _function_word(call)
        if name in ("default", "choices", "type", "const", "default_factory", "values") and function in _OPTION_CALLS:
            return _option(call, file, flow)
        if function == "dict":
            return Use.UNKNOWN
    return Use.OTHER if name in _NO_DEVICE_KEYWORDS else Use.UNKNOWN


def _function_word(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _in_call(current: ast.AST, call: ast.Call, file: PythonFile, flow: int) -> Use | None:
    if current is call.func:
        # "cuda:{}".format(i), or "cuda".upper(): the result goes on.
        method = current.attr if isinstance(current, ast.Attribute) else ""
        return (
            None if method in ("format", "lower", "strip", "split") else Use.OTHER if method == "join" else Use.UNKNOWN
        )
    word = _function_word(call)
    name = file.qualname(call.func) or ""
    if current in call.args[1:2] and (word in ("get", "pop", "getenv") or name == "os.getenv"):
        # The default of a look-up goes where the result goes.
        key = call.args[0]
        if isinstance(key, ast.Constant) and isinstance(key.value, str) and is_device_name(key.value):
            return Use.DEVICE
        return None
    if current in call.args[2:3] and name == "" and word == "getattr":
        key = call.args[1]
        if isinstance(key, ast.Constant) and isinstance(key.value, str) and is_device_name(key.value):
            return Use.DEVICE
        return None
    if any(branch.startswith("torch.") for branch in _branches(call.func, file)):
        return Use.DEVICE
    if name.startswith("torch.") and not name.startswith(("torch.ops.", "torch.utils.cpp_extension.", "torch.save")):
        return Use.DEVICE
    if name.startswith(
        (
            "os.path.",
            "pathlib.",
            "logging.",
            "re.",
            "warnings.",
            "importlib.",
            "os.environ",
            "os.getenv",
            "shutil.",
            "subprocess.",
            "jax.",
            "cupy.",
            "numba.",
            "tensorflow.",
        )
    ):
        return Use.OTHER
    if isinstance(call.func, ast.Attribute):
        receiver = call.func.value
        if word in _STRING_TESTS:
            return Use.DEVICE if is_device_expression(receiver, file) else Use.UNKNOWN
        if word == "replace":
            return Use.DEVICE if is_device_expression(receiver, file) else Use.UNKNOWN
        if word in ("append", "add", "insert", "extend", "setdefault", "put"):
            return Use.DEVICE if is_device_expression(receiver, file) else Use.UNKNOWN
        if word in ("get", "pop"):
            return Use.OTHER
        if word in _DEVICE_METHODS:
            return Use.DEVICE
        if word in _NO_DEVICE_METHODS:
            return Use.OTHER
    elif word in _NO_DEVICE_FUNCTIONS:
        return Use.OTHER
    if word in ("torch_device", "device") or _DEVICE_FUNCTION.search(word):
        return Use.DEVICE
    if word in _OPTION_CALLS:
        if word == "Choice":
            return None
        if current in call.args and (
            word in ("add_argument", "option") or (current is call.args[0] and "DEFINE" in word)
        ):
            return Use.OTHER
        return _option(call, file, flow)
    parameter = _parameter_name(current, call, name, file)
    if parameter is not None:
        return Use.DEVICE if is_device_name(parameter) else Use.UNKNOWN
    if word in ("str", "list", "tuple", "set", "sorted", "frozenset", "literal_eval"):
        return None
    return Use.UNKNOWN


def _branches(function: ast.expr, file: PythonFile) -> list[str]:
    """What a callee that is bound to ``a if … else b`` may be."""
    if not isinstance(function, ast.Name):
        return []
    found = file.scope(function).lookup(function.id)
    if found is None:
        return []
    choices = [binding.value for binding in found[1] if isinstance(binding.value, ast.IfExp)]
    names = [file.source.qualname(side, found[0]) for choice in choices for side in (choice.body, choice.orelse)]
    return [name for name in names if name]


def _parameter_name(current: ast.AST, call: ast.Call, name: str, file: PythonFile) -> str | None:
    """The parameter that takes a positional argument, where the called function or class is the project's own."""
    if current not in call.args:
        return None
    position = call.args.index(current)
    if any(isinstance(arg, ast.Starred) for arg in call.args[:position]):
        return None
    definition = _definition(call, name, file)
    skip = 0
    if isinstance(definition, ast.ClassDef):
        definition = next(
            (item for item in definition.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"), None
        )
        skip = 1
    if not isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    names = [arg.arg for arg in (*definition.args.posonlyargs, *definition.args.args)]
    return names[position + skip] if position + skip < len(names) else None


def _definition(call: ast.Call, name: str, file: PythonFile) -> ast.AST | None:
    if isinstance(call.func, ast.Name):
        found = file.scope(call).lookup(call.func.id)
        if found is not None and found[0].parent is None:
            return file.source.definition(call.func.id)
        if found is not None and len(found[1]) == 1 and found[1][0].kind in ("function", "class"):
            return found[1][0].node
    return file.project.definition(name) if name else None


def _in_compare(current: ast.AST, compare: ast.Compare, file: PythonFile) -> Use:
    others = [side for side in (compare.left, *compare.comparators) if side is not current]
    if any(is_device_expression(side, file) for side in others):
        return Use.DEVICE
    for side in others:
        if isinstance(side, (ast.Tuple, ast.List, ast.Set)) and _all_devices([*side.elts]):
            return Use.DEVICE
    return Use.UNKNOWN


def _option(call: ast.Call, file: PythonFile, flow: int) -> Use:
    """Whether a command-line option or dataclass field is used as a device."""
    names = []
    for arg in call.args:
        if isinstance(arg, ast.Constant) and isinstance(arg.value, str):
            names.append(arg.value.lstrip("-").replace("-", "_"))
    for keyword in call.keywords:
        if keyword.arg == "dest" and isinstance(keyword.value, ast.Constant):
            names.append(str(keyword.value.value))
    parent = file.parent(call)
    if isinstance(parent, (ast.AnnAssign, ast.Assign)):
        targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
        names += [target.id for target in targets if isinstance(target, ast.Name)]
    elif isinstance(parent, ast.arguments):
        answer = _default(call, parent, file, flow)
        if answer is Use.DEVICE:
            return answer
    if any(is_device_name(name) for name in names):
        return Use.DEVICE
    for keyword in call.keywords:
        if keyword.arg == "choices" and isinstance(keyword.value, (ast.List, ast.Tuple, ast.Set)):
            if _all_devices(keyword.value.elts):
                return Use.DEVICE
    if flow < _MAX_FLOW and any(_flows_to_device(name, file, flow) for name in names):
        return Use.DEVICE
    return Use.UNKNOWN


def _assigned(targets: Sequence[ast.expr], file: PythonFile, flow: int) -> Use:
    for target in targets:
        if isinstance(target, ast.Subscript):
            key = target.slice
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and is_device_name(key.value):
                return Use.DEVICE
            continue
        name = target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")
        if not name:
            continue
        if is_device_name(name):
            return Use.DEVICE
        if flow < _MAX_FLOW:
            short = isinstance(target, ast.Name) and len(name) == 1
            if _short_name_is_device(target, file, flow) if short else _flows_to_device(name, file, flow):
                return Use.DEVICE
    return Use.UNKNOWN


def _short_name_is_device(target: ast.expr, file: PythonFile, flow: int) -> bool:
    """As :func:`_flows_to_device` for a name of one letter, which counts in the function that binds it only."""
    name = target.id if isinstance(target, ast.Name) else ""
    scope = file.scope(target)
    key = ("flows", name, scope)
    known = file.recall(key)
    if known is None:
        file.remember(key, False)
        known = any(
            isinstance(node, ast.Name)
            and node.id == name
            and isinstance(node.ctx, ast.Load)
            and file.scope(node) is scope
            and not isinstance(file.parent(node), ast.Attribute)
            and use_of(node, file, flow + 1) is Use.DEVICE
            for node in file.nodes_on_lines_with(name)
        )
        file.remember(key, known)
    return bool(known)


def _default(current: ast.AST, arguments: ast.arguments, file: PythonFile, flow: int) -> Use:
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [
        *zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    for arg, default in pairs:
        if default is current and _literal_of_devices(arg.annotation):
            return Use.DEVICE
        if default is current:
            if is_device_name(arg.arg) or (flow < _MAX_FLOW and _flows_to_device(arg.arg, file, flow)):
                return Use.DEVICE
    return Use.UNKNOWN


def _flows_to_device(name: str, file: PythonFile, flow: int) -> bool:
    """Whether the file uses a variable or attribute ``name`` as a device somewhere."""
    if len(name) < 2 or _NO_DEVICE_NAME.search(name):
        return False
    key = ("flows", name, flow)
    known = file.recall(key)
    if known is None:
        file.remember(key, False)
        known = False
        for node in file.nodes_on_lines_with(name):
            same = node.id if isinstance(node, ast.Name) else getattr(node, "attr", None)
            if same == name and isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                parent = file.parent(node)
                if isinstance(parent, ast.Attribute) or (isinstance(parent, ast.Call) and parent.func is node):
                    continue
                if use_of(node, file, flow + 1) is Use.DEVICE:
                    known = True
                    break
        file.remember(key, known)
    return bool(known)
