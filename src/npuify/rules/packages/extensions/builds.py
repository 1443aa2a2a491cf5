"""How a project builds its extensions: which module is made of which source files, read from setup.py and ``load``."""

from __future__ import annotations

import ast
import re
import warnings
from typing import TYPE_CHECKING

from npuify.rules.common.packages.computed_imports import assignments, form_of, own_names, variable_of
from npuify.rules.packages.extensions.build import Build

if TYPE_CHECKING:
    from collections.abc import Iterator

_SETUP = frozenset(("CUDAExtension", "CppExtension", "NpuExtension", "Extension", "SyclExtension"))
AT_RUN_TIME = frozenset(("load", "load_inline"))
"""Functions of torch that build an extension while the program runs."""
_WORDS = (
    b"cpp_extension",
    b"make_cuda_ext",
    b"make_onnxruntime",
    *(name.encode() for name in sorted(_SETUP - {"Extension"})),
)
_MADE = re.compile(rb"Extension[ \t]*(?:\\\s*)?(?:[(;#\r\n]|\Z)")
"""The plain word stands in many a comment: it has to be called, or given another name."""

_DEFINED = re.compile(r"(?<![\w-])-D\s*([A-Za-z_]\w*)(?:=(\S*))?")


def builds_in(relative: str, data: bytes) -> list[Build]:
    """The extensions that a Python file builds. A file that does not parse builds none."""
    from npuify.rules.packages.extensions.op_builders import builders_in, may_have_builders

    has_builders = may_have_builders(data)
    if not has_builders and not any(word in data for word in _WORDS) and not _MADE.search(data):
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return []
    constants: dict[str, str] = {}
    makers = {name: name for name in _SETUP}
    calls: list[ast.Call] = []
    targets: dict[ast.Call, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            calls.append(node)
        elif not isinstance(node, ast.Assign):
            continue
        elif isinstance(node.value, ast.Call):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            if names:
                targets[node.value] = names[0]
        elif isinstance(node.value, ast.Name) and node.value.id in _SETUP:
            makers.update({target.id: node.value.id for target in node.targets if isinstance(target, ast.Name)})
        elif isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    constants.setdefault(target.id, node.value.value)
    torch = b"cpp_extension" in data
    builds = [_build(relative, call, constants, makers, targets.get(call, ""), torch=torch) for call in calls]
    found = [
        build if build.module or build.kind in AT_RUN_TIME else _computed(build, call, tree)
        for call, build in zip(calls, builds, strict=True)
        if build is not None
    ]
    found += [build for call in calls for build in _by_key(relative, tree, call, constants, makers)]
    helped = list(_through_helpers(relative, tree, calls, constants)) if torch else []
    if helped:
        # The call inside the helper names nothing itself.
        found = [*(build for build in found if build.module or build.sources or build.code), *helped]
    if has_builders:
        found += builders_in(relative, tree)
    macros = _macros(tree) if b"-D" in data or b"define_macros" in data else ()
    found = [build._replace(macros=macros) for build in found]
    return sorted(found, key=lambda build: build.line)


def _macros(tree: ast.AST) -> tuple[tuple[str, str], ...]:
    """What a file tells compilers to define: it is not told apart for which of its extensions."""
    found: dict[tuple[str, str], None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "-D" in node.value:
            found.update(dict.fromkeys(_DEFINED.findall(node.value)))
        elif isinstance(node, ast.JoinedStr):
            text = "".join(str(one.value) if isinstance(one, ast.Constant) else "?" for one in node.values)
            found.update({(name, "?"): None for name, value in _DEFINED.findall(text) if "?" in value})
        elif isinstance(node, ast.Tuple) and len(node.elts) == 2:
            name_node, value_node = node.elts
            name = name_node.value if isinstance(name_node, ast.Constant) else None
            if isinstance(name, str) and name.isidentifier():
                value = value_node.value if isinstance(value_node, ast.Constant) else "?"
                found[name, "" if value is None else str(value)] = None
    return tuple(sorted(found))


def _build(
    relative: str, call: ast.Call, constants: dict[str, str], makers: dict[str, str], target: str, *, torch: bool
) -> Build | None:
    function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    if function in makers:
        kind = makers[function]
    elif (
        function in AT_RUN_TIME and torch and ("sources" in given or "cpp_sources" in given or "cuda_sources" in given)
    ):
        kind = function
    elif "make_cuda_ext" in function or "make_onnxruntime" in function:
        # The helper that projects of OpenMMLab copy from each other.
        kind = "CUDAExtension"
    else:
        return None
    named = given.get("name", call.args[0] if call.args else None)
    # Of a name with values in it only the variable is known that stands for the module.
    name = target if isinstance(named, ast.JoinedStr) and kind in AT_RUN_TIME else _text(named, constants)
    module = _text(given.get("module"), constants)
    sources = [
        text
        for key in ("sources", "sources_cuda")
        for text in _texts(given.get(key, call.args[1] if key == "sources" and len(call.args) > 1 else None), constants)
    ]
    if module and sources:
        sources = [*sources, *(f"{module.replace('.', '/')}/{source}" for source in sources)]
    code = [text for key in ("cpp_sources", "cuda_sources") for text in _texts(given.get(key), constants)]
    full = f"{module}.{name}" if module and name else name
    functions = _names(given.get("functions"), constants)
    return Build(full, tuple(sources), relative, call.lineno, kind, tuple(code), functions)


def _computed(build: Build, call: ast.Call, tree: ast.AST) -> Build:
    """An extension with what is known of a name that Python computes."""
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    named = given.get("name", call.args[0] if call.args else None)
    variable = variable_of(named)
    form = form_of(named, assignments(tree))
    return build._replace(form=form, variable="" if variable in own_names(tree) else variable)


def _by_key(
    relative: str, tree: ast.AST, call: ast.Call, constants: dict[str, str], makers: dict[str, str]
) -> Iterator[Build]:
    """What a call makes whose name and sources come from dictionaries, by one key: an extension for each key."""
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    kind = makers.get(called_function(call), "")
    names, sources = (_looked_up(given.get(one)) for one in ("name", "sources"))
    if not kind or not names or not sources:
        return
    tables = {
        target.id: _table(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id in (names, sources)
    }
    for key, value in tables.get(names, {}).items():
        module, paths = _text(value, constants), _texts(tables.get(sources, {}).get(key), constants)
        if module and paths:
            yield Build(module, tuple(paths), relative, call.lineno, kind)


def _looked_up(node: ast.expr | None) -> str:
    """The dictionary in which a value is looked up: ``names[key]`` or ``names.get(key)``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
        node = node.func
    holder = node.value if isinstance(node, (ast.Attribute, ast.Subscript)) else None
    return holder.id if isinstance(holder, ast.Name) else ""


def _table(node: ast.expr) -> dict[str, ast.expr]:
    """What a dictionary that is written out holds, by its keys."""
    if isinstance(node, ast.Dict):
        return {
            key.value: value
            for key, value in zip(node.keys, node.values, strict=True)
            if isinstance(key, ast.Constant) and isinstance(key.value, str)
        }
    if isinstance(node, ast.Call) and called_function(node) == "dict":
        return {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    return {}


def loading_helpers(tree: ast.AST) -> dict[str, tuple[int, int]]:
    """Functions that hand a name and sources on to torch's ``load``: the places of both among what they take."""
    found = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        taken = [one.arg for one in node.args.args]
        for call in ast.walk(node):
            if not isinstance(call, ast.Call) or called_function(call) != "load":
                continue
            given = {keyword.arg: keyword.value for keyword in call.keywords}
            name, sources = given.get("name", call.args[0] if call.args else None), given.get("sources")
            if isinstance(name, ast.Name) and isinstance(sources, ast.Name) and {name.id, sources.id} <= set(taken):
                found[node.name] = (taken.index(name.id), taken.index(sources.id))
    return found


def _through_helpers(relative: str, tree: ast.AST, calls: list[ast.Call], constants: dict[str, str]) -> Iterator[Build]:
    """What such functions build. The sources may be a variable, which has its last value before the call."""
    helpers = loading_helpers(tree)
    for call in calls:
        places = helpers.get(called_function(call))
        if places is None or max(places) >= len(call.args):
            continue
        name, sources = (call.args[place] for place in places)
        if isinstance(sources, ast.Name):
            values = [
                node.value
                for node in ast.walk(tree)
                if isinstance(node, ast.Assign)
                and node.lineno < call.lineno
                and any(isinstance(target, ast.Name) and target.id == sources.id for target in node.targets)
            ]
            sources = max(values, key=lambda value: value.lineno, default=sources)
        module, paths = _text(name, constants), _texts(sources, constants)
        if module and paths:
            yield Build(module, tuple(paths), relative, call.lineno, "load")


def called_function(call: ast.Call) -> str:
    """The last part of the name of what is called."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _names(node: ast.expr | None, constants: dict[str, str]) -> tuple[str, ...]:
    """A name, a list of names, or the keys of a dictionary of names and what they do."""
    inner = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [node])
    return tuple(text for one in inner if (text := _text(one, constants)))


def _text(node: ast.expr | None, constants: dict[str, str]) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text(node.left, constants), _text(node.right, constants)
        return left + right if left and right else ""
    return constants.get(node.id, "") if isinstance(node, ast.Name) else ""


def _texts(node: ast.expr | None, constants: dict[str, str]) -> list[str]:
    if node is None:
        return []
    direct = _text(node, constants)
    if direct:
        return [direct]
    return [
        text
        for inner in ast.walk(node)
        if isinstance(inner, (ast.Constant, ast.Name)) and "." in (text := _text(inner, constants))
    ]
