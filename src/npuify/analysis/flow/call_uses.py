"""What a call does with a value that is given to it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.arguments import parameter_for
from npuify.analysis.classes import decorators
from npuify.analysis.flow import device_names
from npuify.analysis.flow.destinations import Use
from npuify.analysis.flow.device_names import ADDING, COMPARING, HELPER, LOOKING, names_device
from npuify.analysis.flow.devices import denotes_device, is_surely_device, lists_devices
from npuify.analysis.flow.flows import callees, is_environment, option_names, reads
from npuify.analysis.flow.owners import owner_of_given_table
from npuify.analysis.values import MODELS, VAGUE, Kind
from npuify.language import commas, phrase

if TYPE_CHECKING:
    from npuify.analysis.engine import Engine
    from npuify.analysis.files import FileModel, Function
    from npuify.analysis.flow.destinations import Seen


def use_of_argument(node: ast.expr, call: ast.Call, file: FileModel, model: Engine) -> Seen | None:
    word = called_name(call)
    if word in ("getattr", "setattr"):
        seen = _of_attribute_by_name(node, call, file, model)
        if seen is not None:
            return seen
    if word == "len" and isinstance(file.parent(call), ast.Slice):
        return Use.DEVICE, "cut off by its length", False
    if word in ("hasattr", "delattr") and node in call.args[1:2]:
        return Use.KEY, "the name of an attribute", True
    values = model.values(call.func, file)
    for value in values:
        if value.kind is Kind.FUNCTION or (value.kind is Kind.CLASS and value.definition is not None):
            # What the function does with it is found where it reads its parameter.
            return _as_parameter(node, call, file, model)
    if word in LOOKING and isinstance(call.func, ast.Attribute) and call.args:
        if node is call.args[0]:
            owner = getattr(call.func.value, "id", "")
            return (Use.DEVICE if owner.endswith(HELPER) else Use.KEY), f".{word}()", False
        key = call.args[0]
        named = isinstance(key, ast.Constant) and isinstance(key.value, str) and names_device(key.value)
        return (Use.DEVICE, phrase("given for {key}", key=file.code(key)), False) if named else None
    if word == "setdefault" and node in call.args[1:2] and is_environment(call.func, file):
        return None  # it is what the call gives
    for value in values:
        seen = use_in_library(value.name, value.of is not None, word) if value.kind is not Kind.UNKNOWN else None
        if seen is not None:
            # What a loader yields is mostly a tensor, and an object with a method called so mostly a module.
            return seen if value.of is None or value.of.kind not in VAGUE else (*seen[:2], False)
    if word in COMPARING and isinstance(call.func, ast.Attribute):
        if denotes_device(call.func.value, file, model):
            sure = is_surely_device(call.func.value, file, model)
            return Use.COMPARED, f".{word}() of {file.code(call.func.value)}", sure
        return None if word in ADDING else (Use.UNKNOWN, f".{word}()", True)
    if word in device_names.OPTIONS:
        if word == "Choice":
            return None
        if word in ("add_argument", "option") or ("DEFINE" in word and node is call.args[0]):
            return Use.KEY, phrase("the name of an option of {word}()", word=word), False
        return _of_option(call, file)
    if word in ("str", "list", "tuple", "set", "sorted", "frozenset", "dict", "next", "cast", "format"):
        return None
    if word in device_names.DEVICE_METHODS and isinstance(call.func, ast.Attribute):
        return Use.DEVICE, f".{word}()", not values.is_known
    if word in device_names.MESSAGES:
        return Use.MESSAGE, f"{word}()", False
    if word == "join" and isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Constant):
        return None  # put together with others, and handed on
    if word in device_names.PATHS:
        return Use.PATH, f"{word}()", False
    if word in device_names.NAMES:
        return Use.KEY, f"{word}()", False
    if device_names.DEVICE_FUNCTION.search(word):
        return Use.DEVICE, f"{word}()", False
    return Use.UNKNOWN, phrase("given to {func}()", func=file.code(call.func)), True


def _of_attribute_by_name(node: ast.expr, call: ast.Call, file: FileModel, model: Engine) -> Seen | None:
    """What ``getattr`` and ``setattr``, also that of a test's monkeypatch, do with their arguments."""
    taken = 2 if called_name(call) == "getattr" else 3
    if node in call.args[1:2] and len(call.args) >= taken:
        if taken == 2 and not isinstance(node, ast.Constant):
            # A name that comes from elsewhere; one that stands here is for the rules about names.
            return _of_member(call.args[0], file, model)
        return Use.KEY, "the name of an attribute", True
    place = call.args.index(node) - 1 if node in call.args else 0
    name = call.args[place] if place > 0 else None
    if isinstance(name, ast.Constant) and names_device(str(name.value)):
        return Use.DEVICE, phrase("given for {name}", name=file.code(name)), False
    if called_name(call) == "setattr":
        return Use.UNKNOWN, "the value of an attribute", True
    return None


def _of_member(of: ast.expr, file: FileModel, model: Engine) -> Seen:
    """What the name of a member is, by whose member: torch, a tensor and a module have one for each kind of device."""
    values = model.values(of, file)
    if values and all(value.name == "torch" or value.kind in (Kind.TENSOR, *MODELS) for value in values):
        return Use.DEVICE, phrase("the name of a member of {of}", of=file.code(of)), True
    is_own = values.is_known and all(value.definition is not None for value in values)
    return (Use.KEY if is_own else Use.UNKNOWN), "the name of an attribute", True


def use_in_library(name: str, is_method: bool, word: str) -> Seen | None:
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


def use_of_keyword(keyword: ast.keyword, call: ast.Call, file: FileModel, model: Engine) -> Seen | None:
    name = keyword.arg
    if name is None:
        return None
    values = model.values(call.func, file)
    is_torch = any(value.name.startswith("torch.") for value in values)
    word = called_name(call)
    if names_device(name):
        framework = owner_of_given_table(call, file, model) if word == "dict" else None
        if framework is not None:
            return Use.OTHER, phrase("given to {name}", name=framework.name), True
        use = Use.CALLED if calls_own(call, file, model) else Use.DEVICE
        return use, f"{name}= of {file.code(call.func)}()", is_torch
    if any(value.kind in (Kind.FUNCTION, Kind.CLASS) and value.definition is not None for value in values):
        # What the function does with it is found where it reads its parameter.
        return _by_keyword(name) or _unread(keyword.value, call, file, model)
    if name == "type" and any(value.name == "torch.device" for value in values):
        return Use.DEVICE, "type= of torch.device()", True
    if word in device_names.OPTIONS and name in ("default", "choices", "type", "const", "default_factory", "values"):
        return _of_option(call, file)
    if word == "dict":
        return _by_keyword(name)
    return _by_keyword(name) or (Use.UNKNOWN, f"{name}= of {file.code(call.func)}()", True)


def _by_keyword(name: str) -> Seen | None:
    """What an argument is by its name alone."""
    if name in device_names.PATH_KEYWORDS:
        return Use.PATH, f"{name}=", False
    return (Use.MESSAGE, f"{name}=", False) if name in device_names.MESSAGE_KEYWORDS else None


def _of_option(call: ast.Call, file: FileModel) -> Seen:
    """What an option is whose default or choice a string is."""
    for name in option_names(call, file):
        if names_device(name):
            return Use.DEVICE, phrase("the option {name}", name=name), False
    for keyword in call.keywords:
        if keyword.arg == "choices" and isinstance(keyword.value, (ast.List, ast.Tuple, ast.Set)):
            if lists_devices(keyword.value.elts):
                return Use.DEVICE, phrase("an option with the choices {value}", value=file.code(keyword.value)), True
    return Use.OPTION, f"{called_name(call)}()", True


def _as_parameter(node: ast.expr, call: ast.Call, file: FileModel, model: Engine) -> Seen | None:
    for function, _, taken in callees(call, file, model):
        arg = parameter_for(node, call, function, taken)
        if arg is not None and names_device(arg.arg):
            return Use.CALLED, phrase("given as {arg}", arg=arg.arg), False
    return _unread(node, call, file, model)


def _unread(node: ast.expr, call: ast.Call, file: FileModel, model: Engine) -> Seen | None:
    """That a value is given to functions of the project none of which reads it; None where one may."""
    names = set()
    for function, home, taken in callees(call, file, model):
        arg = parameter_for(node, call, function, taken)
        if arg is None or reads(arg, function, home) or is_for_heirs(function):
            return None
        names.add(f"{arg.arg} of {getattr(function, 'name', 'lambda')}()")
    return (
        (Use.OTHER, phrase("given as {names}, which does not read it", names=commas(sorted(names))), True)
        if names
        else None
    )


def is_for_heirs(function: Function) -> bool:
    """Whether a method does nothing, so that those that override it may."""
    body = function.body if isinstance(function.body, list) else []
    return bool(body) and all(
        isinstance(one, (ast.Pass, ast.Raise)) or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
        for one in body
    )


def is_one_of_several(function: Function) -> bool:
    """Whether others may run where it is called, by the type of what they are given."""
    return any(word.rpartition(".")[2] in _DISPATCHING for word in decorators(function))


_DISPATCHING = frozenset(("singledispatch", "singledispatchmethod", "dispatch"))


def calls_own(call: ast.Call, file: FileModel, model: Engine) -> bool:
    """Whether a call surely is of a function or class that the project defines."""
    values = model.values(call.func, file)
    return bool(values) and all(
        value.kind in (Kind.FUNCTION, Kind.CLASS) and value.definition is not None for value in values
    )


def called_name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
