"""What lists, dictionaries, loaders and their like hold: what is written into them, and what is put in later."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.engine import Reach
from npuify.analysis.files import DEFINITIONS, inside
from npuify.analysis.library.lookup import named
from npuify.analysis.library.table import LAYERS
from npuify.analysis.targets import bound_to
from npuify.analysis.values import NOTHING, OBJECTS, STRINGS, UNKNOWN, Kind, Value, made, one, union, unknown
from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from npuify.analysis.engine import Engine, Key
    from npuify.analysis.files import FileModel
    from npuify.analysis.values import Values
    from npuify.source.python.scopes import Scope

_PUTTING = frozenset(("append", "appendleft", "add", "insert", "setdefault"))
_PUTTING_ALL = frozenset(("extend", "update", "extendleft"))
_SEVERAL = frozenset(("enumerate", "zip", "items"))
"""Functions and methods that go through several things at once."""


def key_of(node: ast.expr, file: FileModel, model: Engine) -> Key:
    """The key in square brackets; None where it is not one constant."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, (int, str)) else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        return -node.operand.value if isinstance(node.operand.value, int) else None
    if isinstance(node, (ast.Name, ast.Attribute)):
        sole = model.values(node, file).sole
        return sole.name if sole is not None and sole.kind in STRINGS and sole.name else None
    return None


def items(values: Values, key: Key, file: FileModel, model: Engine) -> Values:
    """What stands in containers under a key; anything that stands there, for the key None."""
    return values.each(lambda value: _item(value, key, file, model))


def elements(values: Values, file: FileModel, model: Engine) -> Values:
    """What a loop over values goes through."""
    return values.each(lambda value: _element(value, file, model))


def _item(value: Value, key: Key, file: FileModel, model: Engine) -> Values | Value:
    kind = value.kind
    if kind in (Kind.UNKNOWN, Kind.BATCH, Kind.TENSOR):
        return value
    if kind is Kind.CONTAINER or value.name in LAYERS:
        return content(value, key, file, model)
    if kind is Kind.LOADER and value.definition is None:
        return Value(Kind.BATCH, of=value)
    if kind in STRINGS:
        return Value(Kind.STRING)
    if kind is Kind.PARAMETERS:
        return Value(Kind.TENSOR)
    if kind in (Kind.LIBRARY_NAME, Kind.TORCH_NAME, Kind.TORCH_MODULE):
        if value.name == "os.environ":
            return Value(Kind.STRING)
        # ``models.__dict__[name]`` is one of the names of ``models``, ``list[int]`` a list.
        head, _, last = value.name.rpartition(".")
        return named(f"{head}.*") if last == "__dict__" else value
    if kind is Kind.CLASS:
        return value
    if kind in OBJECTS and value.definition is not None:
        return _by_method(value, "__getitem__", file, model)
    return NOTHING if kind is Kind.NONE else UNKNOWN


def _element(value: Value, file: FileModel, model: Engine) -> Values | Value:
    if value.kind is Kind.CONTAINER and value.name == "dict":
        return _keys(value, file, model)
    if value.kind in (Kind.LIBRARY_NAME, Kind.TORCH_NAME, Kind.CLASS):
        return UNKNOWN
    if value.kind in OBJECTS and value.definition is not None:
        home = model.definition(value, file)
        where = home[0] if home is not None else file
        found = model.ask(where, ("elements", value), _elements_by_method, value, where, model)
        if value.kind is Kind.LOADER:
            return found.without(UNKNOWN) | one(Value(Kind.BATCH, of=value))
        return found
    return _item(value, None, file, model)


def _elements_by_method(value: Value, file: FileModel, model: Engine) -> Values:
    """What the iterator of an object of the project gives; one that is the object itself gives it by ``__next__``."""
    iterators = _by_method(value, "__iter__", file, model)
    found = model.elements(iterators.without(value), file)
    return found | _by_method(value, "__next__", file, model) if value in iterators else found


def _by_method(value: Value, name: str, file: FileModel, model: Engine) -> Values:
    """What a method of an object of the project gives."""
    methods = model.attribute(one(value), name, file).where(lambda one_: one_.definition is not None)
    if not methods:
        return one(UNKNOWN)
    return methods.each(lambda method: model.called(method, file))


def content(value: Value, key: Key, file: FileModel, model: Engine) -> Values:
    """What a container holds under a key, by how it is made and what is put into it."""
    found = model.node(value.place, file)
    if found is None:
        return one(UNKNOWN)
    home, node = found
    return model.ask(home, ("item", node, value.name, key), _content, value, node, key, home, model)


def _content(value: Value, node: ast.AST, key: Key, file: FileModel, model: Engine) -> Values:
    found = list(_written(value, node, key, file, model))
    if isinstance(node, ast.expr) and value.name not in _SEVERAL and not value.name.endswith(" item"):
        found += _put_in(value, node, key, file, model)
    if not found and not (isinstance(node, (ast.List, ast.Tuple, ast.Set, ast.Dict))):
        return one(UNKNOWN)
    values = union(found)
    if not values and key is not None and isinstance(node, (ast.List, ast.Dict)):
        return unknown(file.place(node), phrase("nothing is known to be put here under {key!r}", key=key))
    return values


# --- as it is made ---


def _written(value: Value, node: ast.AST, key: Key, file: FileModel, model: Engine) -> Iterator[Values]:
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        yield from _of_display(node, key, file, model)
    elif isinstance(node, ast.Dict):
        for word, item in zip(node.keys, node.values, strict=True):
            if word is None:
                yield model.items(model.values(item, file), key, file)
            elif key is None or not isinstance(word, ast.Constant) or word.value == key:
                yield model.values(item, file)
    elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        yield model.values(node.elt, file)
    elif isinstance(node, ast.DictComp):
        yield model.values(node.value, file)
    elif isinstance(node, DEFINITIONS):
        for inner in inside(node):
            if isinstance(inner, ast.Yield) and inner.value is not None:
                yield model.values(inner.value, file)
            elif isinstance(inner, ast.YieldFrom):
                yield model.elements(model.values(inner.value, file), file)
    elif isinstance(node, ast.Call):
        yield from _of_call(value, node, key, file, model)


def _of_display(node: ast.List | ast.Tuple | ast.Set, key: Key, file: FileModel, model: Engine) -> Iterator[Values]:
    starred = any(isinstance(item, ast.Starred) for item in node.elts)
    if isinstance(key, int) and not starred and -len(node.elts) <= key < len(node.elts):
        yield model.values(node.elts[key], file)
        return
    for item in node.elts:
        values = model.values(item, file)
        yield model.elements(values, file) if isinstance(item, ast.Starred) else values


def _of_call(value: Value, node: ast.Call, key: Key, file: FileModel, model: Engine) -> Iterator[Values]:
    name, args = value.name, node.args
    receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
    if name in _SEVERAL:
        place = file.place(node)
        yield made(
            Value(Kind.CONTAINER, f"{name} item", place), place, phrase("what {name} gives each time", name=name)
        )
    elif name == "enumerate item":
        yield from _parts([one(Value(Kind.NUMBER)), *(_through(item, file, model) for item in args[:1])], key)
    elif name == "zip item":
        yield from _parts([_through(item, file, model) for item in args], key)
    elif name == "items item" and receiver is not None:
        holders = model.values(receiver, file)
        yield from _parts([model.elements(holders, file), model.items(holders, None, file)], key)
    elif name == "values" and receiver is not None:
        yield model.items(model.values(receiver, file), None, file)
    elif name == "keys" and receiver is not None:
        yield model.elements(model.values(receiver, file), file)
    elif name in ("split", "rsplit", "splitlines", "partition", "rpartition"):
        yield _of_text(receiver, key, file, model)
    elif name == "range":
        yield one(Value(Kind.NUMBER))
    elif name == "random_split":
        place = file.place(node)
        yield made(Value(Kind.DATASET, "torch.utils.data.Subset", place), place, "a part of a dataset")
    elif name == "map" and args:
        yield model.values(args[0], file).each(lambda function: model.called(function, file))
    elif name == "filter" and len(args) > 1:
        yield _through(args[1], file, model)
    elif name in ("dict", "OrderedDict"):
        yield from _of_dict(node, key, file, model)
    elif name == "defaultdict":
        for factory in args[:1]:
            yield model.values(factory, file).each(lambda function: model.called(function, file))
    elif name in LAYERS:
        yield from _of_layers(name, node, key, file, model)
    elif name == "copy" and receiver is not None:
        yield model.items(model.values(receiver, file), key, file)
    else:
        given = args[:1] or [keyword.value for keyword in node.keywords if keyword.arg == "iterable"]
        for source in given:
            yield _through(source, file, model)


def _of_text(receiver: ast.expr | None, key: Key, file: FileModel, model: Engine) -> Values:
    """A part of a text; the first one of a device's name is its type."""
    texts = model.values(receiver, file) if receiver is not None and key in (0, None) else NOTHING
    named = texts.where(lambda value: value.kind is Kind.DEVICE_STRING)
    types = named.each(lambda value: Value(Kind.DEVICE_STRING, value.name.partition(":")[0]))
    return types if types and key == 0 else types | one(Value(Kind.STRING))


def _through(node: ast.expr, file: FileModel, model: Engine) -> Values:
    values = model.values(node.value if isinstance(node, ast.Starred) else node, file)
    found = model.elements(values, file)
    return model.elements(found, file) if isinstance(node, ast.Starred) else found


def _parts(parts: list[Values], key: Key) -> Iterator[Values]:
    if isinstance(key, int) and -len(parts) <= key < len(parts):
        yield parts[key]
    else:
        yield from parts


def _of_dict(node: ast.Call, key: Key, file: FileModel, model: Engine) -> Iterator[Values]:
    for keyword in node.keywords:
        if keyword.arg is None:
            yield model.items(model.values(keyword.value, file), key, file)
        elif key is None or keyword.arg == key:
            yield model.values(keyword.value, file)
    for source in node.args[:1]:
        values = model.values(source, file)
        yield values.each(
            lambda value: (
                model.items(one(value), key, file)
                if value.name == "dict" or value.kind is Kind.UNKNOWN
                else model.items(model.elements(one(value), file), 1, file)
            )
        )


def _of_layers(name: str, node: ast.Call, key: Key, file: FileModel, model: Engine) -> Iterator[Values]:
    if name == "torch.nn.Sequential":
        for place, layer in enumerate(node.args):
            if isinstance(layer, ast.Starred):
                yield model.elements(model.values(layer.value, file), file)
            elif not isinstance(key, int) or key < 0 or key == place:
                yield model.values(layer, file)
    else:
        for source in node.args[:1]:
            yield model.items(model.values(source, file), key, file)


def _keys(value: Value, file: FileModel, model: Engine) -> Values:
    """The keys of a dictionary."""
    found = model.node(value.place, file)
    if found is None:
        return one(UNKNOWN)
    home, node = found
    if isinstance(node, ast.Dict) and node.keys:
        return union(model.values(word, home) for word in node.keys if word is not None)
    if isinstance(node, ast.DictComp):
        return model.values(node.key, home)
    return one(UNKNOWN)


# --- what is put in later ---


def _put_in(value: Value, node: ast.expr, key: Key, file: FileModel, model: Engine) -> Iterator[Values]:
    """What code puts into a container, by the names that it is bound to where it is made."""
    parent = file.parent(node)
    if not isinstance(parent, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
        return
    targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
    for target in targets:
        if isinstance(target, ast.Name):
            yield from _put_into(target.id, value, key, file, file.scope(target).lookup(target.id), model)
        elif isinstance(target, ast.Attribute):
            yield from _put_into(target.attr, value, key, file, None, model)


def _put_into(
    name: str, value: Value, key: Key, file: FileModel, home: tuple[Scope, object] | None, model: Engine
) -> Iterator[Values]:
    files = {file.relative: file}
    if model.reach is Reach.PROGRAM and (home is None or home[0].parent is None):
        files |= {other.relative: other for other in model.files_with(name if home is not None else f".{name}")}
    for other in files.values():
        for node in other.references(name):
            if isinstance(node, (ast.Name, ast.Attribute)):
                given = _given(node, key, other, model)
                if given is not None and _holds(node, value, file, other, home, model):
                    yield given()


def _holds(
    node: ast.expr, value: Value, file: FileModel, other: FileModel, home: tuple[Scope, object] | None, model: Engine
) -> bool:
    """Whether an expression may be the container."""
    if isinstance(node, ast.Name) and home is not None and other is file:
        found = file.scope(node).lookup(node.id)
        return found is not None and found[0] is home[0]
    return value in model.values(node, other)


def _given(node: ast.expr, key: Key, file: FileModel, model: Engine) -> Callable[[], Values] | None:
    """How to find what the code around a container's name puts into it; None where it puts in nothing."""
    parent = file.parent(node)
    if isinstance(parent, ast.Subscript) and parent.value is node and isinstance(parent.ctx, ast.Store):
        written = parent.slice.value if isinstance(parent.slice, ast.Constant) else None
        if key is not None and written is not None and written != key:
            return None
        bound = bound_to(parent, file)
        return lambda: model.bound(bound, file)
    if isinstance(parent, ast.AugAssign) and parent.target is node and isinstance(parent.op, (ast.Add, ast.BitOr)):
        return lambda: model.items(model.values(parent.value, file), None, file)
    call = file.parent(parent) if isinstance(parent, ast.Attribute) and parent.value is node else None
    if not isinstance(call, ast.Call) or call.func is not parent or not call.args:
        return None
    assert isinstance(parent, ast.Attribute)
    if parent.attr in _PUTTING:
        return lambda: model.values(call.args[-1], file)
    if parent.attr in _PUTTING_ALL:
        return lambda: model.items(model.values(call.args[0], file), None, file)
    return None
