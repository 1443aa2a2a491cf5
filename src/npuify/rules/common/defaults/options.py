"""What the project's programs declare of their options: the value of each where it is not asked for."""

from __future__ import annotations

import ast
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from npuify.words import words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from npuify.analysis.project import ProjectIndex
    from npuify.source.python import PythonSource

_MOST_FILES: Final = 12
"""Files that may declare an option; of a name that more have, nothing is known."""
_FLAGS: Final = frozenset(
    ("DEFINE_bool", "DEFINE_boolean", "DEFINE_string", "DEFINE_integer", "DEFINE_float", "DEFINE_enum")
)
_DECLARING: Final = ("add_argument", "set_defaults", *sorted(_FLAGS))


class Known(NamedTuple):
    """What an expression is when the program is started without options, and which switch decides that."""

    value: Any
    switch: str


class _Declared(NamedTuple):
    """What one file says of options."""

    defaults: Mapping[str, list[Known | None]]
    """What each declaration gives where the option is not asked for; None where that is not known."""
    sets_any: bool
    """It sets defaults whose names are not in its text."""


def defaults_of(name: str, project: ProjectIndex, reader: str = "") -> list[Known | None]:
    """What each declaration of an option gives where it is not asked for; None where that is not known.

    Args:
        name: the attribute that the program reads.
        project: the project's files.
        reader: the file that reads it. What it declares itself is meant, not what other programs do.
    """
    if reader not in project.files_declaring(name.encode()):
        reader = ""
    return project.once(("defaults", name, reader), lambda view: _defaults_of(name, view, reader))


def _defaults_of(name: str, project: ProjectIndex, reader: str) -> list[Known | None]:
    declaring = {*project.files_declaring(name.encode())}
    if reader in declaring and (own := _declared_in(reader, project)) is not None and own.defaults.get(name):
        declaring = {reader}
    overwriting = {*project.files_overwriting(name.encode())}
    files = declaring | overwriting
    if len(files) > _MOST_FILES:
        return [None]
    found: list[Known | None] = []
    for relative in sorted(files):
        declared = _declared_in(relative, project)
        if declared is None or declared.sets_any:
            found.append(None)
        if declared is not None:
            found += declared.defaults.get(name, ())
    for relative in sorted(overwriting):
        found += _set_in(relative, name, project)
    return found


def _declared_in(relative: str, project: ProjectIndex) -> _Declared | None:
    """What a file says of options; None where it cannot be read. It is looked at once for all of them."""
    key = ("options declared", relative)
    if key not in project.remembered:
        source = project.load(relative)
        project.remembered[key] = None if source is None else _of_source(source)
    project.dependencies.add(relative)
    declared: _Declared | None = project.remembered[key]
    return declared


def _of_source(source: PythonSource) -> _Declared:
    defaults: defaultdict[str, list[Known | None]] = defaultdict(list)
    overriding: list[ast.Call] = []
    nodes: list[ast.AST] = []
    lines = source.lines_with_names(_DECLARING) | source.lines_with_words(words_of(b"dataclass"))
    source.visit(lines, nodes.append)
    for node in nodes:
        if isinstance(node, ast.ClassDef) and any("dataclass" in called_name(one) for one in node.decorator_list):
            for field in node.body:
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                    value = default_of_field(field.value, field.target.id) if field.value is not None else None
                    defaults[field.target.id].append(value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "add_argument":
                for name in destinations(node):
                    defaults[name].append(_default(node, name))
            elif node.func.attr in _FLAGS and node.args and (name := text_of(node.args[0])):
                defaults[name].append(_default_of_flag(node, name))
            elif node.func.attr == "set_defaults":
                overriding.append(node)
    sets_any = False
    for call in overriding:
        # A file of settings that is read where an option names one.
        asked = defaults.get(_option_before(call, source), ())
        if not asked or not all(one is not None and not one.value for one in asked):
            sets_any = sets_any or any(keyword.arg is None for keyword in call.keywords)
            for keyword in call.keywords:
                defaults[keyword.arg or ""].append(None)
    return _Declared(defaults, sets_any)


def _option_before(node: ast.AST, source: PythonSource) -> str:
    """The attribute on which it rests whether a node runs: ``config`` for what stands in ``if args.config:``."""
    current = node
    for up in source.ancestors(node):
        if isinstance(up, ast.If) and current in up.body and isinstance(up.test, ast.Attribute):
            return up.test.attr
        current = up
    return ""


def _set_in(relative: str, name: str, project: ProjectIndex) -> list[Known | None]:
    """What a file sets an attribute of that name to after options were read; one of ``self`` is none of these.

    ``if "fast" not in args: args.fast = False`` says what the parser says.
    """
    key = ("set to", relative, name)
    if key not in project.remembered:
        source = project.load(relative)
        nodes: list[ast.AST] = []
        if source is not None:
            source.visit(source.lines_with_names([name]), nodes.append)
        found = [value for node in nodes for attribute, value in _overwritten(node) if attribute == name]
        project.remembered[key] = [None if value is None else constant(value, f"--{name}") for value in found]
    project.dependencies.add(relative)
    known: list[Known | None] = project.remembered[key]
    return known


def called_name(decorator: ast.expr) -> str:
    """The last part of the name of what is called, or of what decorates without a call."""
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def constant(node: ast.expr, option: str) -> Known | None:
    """What an expression without names is, as the default of an option."""
    try:
        return Known(ast.literal_eval(node), option)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None


def default_of_field(node: ast.expr, name: str) -> Known | None:
    """What ``field(default=False)``, ``typer.Option(False, "--fast")`` or ``False`` make of an option that nobody asks
    for."""
    if isinstance(node, ast.Call):
        given = {one.arg: one.value for one in node.keywords}
        called = called_name(node)
        if called in ("Option", "Argument") and (node.args or "default" in given):
            node = node.args[0] if node.args else given["default"]
        elif called == "field" and "default" in given:
            node = given["default"]
        else:
            return None
    # typer asks for what has an ellipsis.
    return None if isinstance(node, ast.Constant) and node.value is ... else constant(node, f"--{name}")


def _overwritten(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """The options that a statement sets after they were read, each with what it becomes where that is written:
    attributes of that name, but not those of ``self``."""
    if not isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        return
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        if isinstance(target, ast.Attribute) and not (isinstance(target.value, ast.Name) and target.value.id == "self"):
            yield target.attr, None if isinstance(node, ast.AugAssign) else node.value


def destinations(call: ast.Call) -> list[str]:
    """The attributes that an option is read from."""
    dest = next((text_of(one.value) for one in call.keywords if one.arg == "dest"), "")
    if dest:
        return [dest]
    names = [text_of(one) for one in call.args]
    return list(dict.fromkeys(one.lstrip("-").replace("-", "_") for one in names if one.startswith("-")))


def _default(call: ast.Call, name: str) -> Known | None:
    given = {one.arg: one.value for one in call.keywords}
    option = next((text for one in call.args if (text := text_of(one)).startswith("--")), f"--{name}")
    if None in given:
        return None
    if "default" in given:
        return constant(given["default"], option)
    action = text_of(given["action"]) if "action" in given else ""
    if action in ("store_true", "store_false"):
        return Known(action == "store_false", option)
    if "nargs" in given and text_of(given["nargs"]) == "?":
        return Known(None, option)
    return None if action not in ("", "store") or "required" in given else Known(None, option)


def _default_of_flag(call: ast.Call, name: str) -> Known | None:
    default = (
        call.args[1] if len(call.args) > 1 else next((one.value for one in call.keywords if one.arg == "default"), None)
    )
    return Known(default.value, f"--{name}") if isinstance(default, ast.Constant) else None


def text_of(node: ast.expr | None) -> str:
    """The string that an expression is written as; empty for anything else."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
