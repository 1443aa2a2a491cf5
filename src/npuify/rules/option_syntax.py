"""How code declares an option and its choices: argparse, fields of dataclasses, and comparisons of what was given."""

from __future__ import annotations

import ast


def name_of(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def called_by(decorator: ast.expr) -> ast.expr:
    return decorator.func if isinstance(decorator, ast.Call) else decorator


def field_of(option: str) -> str:
    """The name of a dataclass' field for an option; empty for one letter, which fields hardly have."""
    name = option.lstrip("-").replace("-", "_")
    return name if name.isidentifier() and len(name) > 1 else ""


def allowed_values(field: ast.AnnAssign) -> list[ast.Constant]:
    """The values that ``Literal[...]`` or the metadata of a field allow; none where any is."""
    for node in ast.walk(field):
        values: ast.expr | None = None
        if isinstance(node, ast.Subscript) and name_of(node.value) == "Literal":
            values = node.slice
        elif isinstance(node, ast.Dict):
            keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
            values = node.values[keys.index("choices")] if "choices" in keys else None
        if isinstance(values, ast.Constant):
            return [values]
        if isinstance(values, (ast.List, ast.Tuple, ast.Set)):
            return [one for one in values.elts if isinstance(one, ast.Constant)]
    return []


def members_of(field: ast.AnnAssign, tree: ast.Module) -> list[ast.Constant]:
    """The names in an enumeration of the same file that is the type of a field; none where the type is another."""
    wanted = name_of(field.annotation)
    for node in tree.body:
        if (
            isinstance(node, ast.ClassDef)
            and node.name == wanted
            and any("Enum" in name_of(base) for base in node.bases)
        ):
            targets = [
                one.targets[0]
                for one in node.body
                if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)
            ]
            return [ast.copy_location(ast.Constant(name_of(target)), target) for target in targets]
    return []


def declares_option(call: ast.Call, option: str) -> bool:
    return any(isinstance(one, ast.Constant) and one.value == option for one in call.args)


def choices_of(call: ast.Call) -> list[ast.Constant]:
    for keyword in call.keywords:
        values = keyword.value
        if keyword.arg == "type" and isinstance(values, ast.Call) and name_of(values.func) == "Choice" and values.args:
            values = values.args[0]
        elif keyword.arg != "choices":
            continue
        if isinstance(values, (ast.List, ast.Tuple, ast.Set)):
            return [one for one in values.elts if isinstance(one, ast.Constant)]
    return []


def destination_of(call: ast.Call, option: str) -> str:
    for keyword in call.keywords:
        if keyword.arg == "dest" and isinstance(keyword.value, ast.Constant):
            return str(keyword.value.value)
    names = [one.value for one in call.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    longest = next((name for name in names if name.startswith("--")), option)
    return longest.lstrip("-").replace("-", "_")


def compared_with(tree: ast.Module, destination: str, value: str) -> list[ast.Constant]:
    """Strings that the option's value is compared with, as in ``args.device == "cuda"``."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(name_of(side) == destination for side in sides):
                found += [side for side in sides if isinstance(side, ast.Constant) and side.value == value]
    return found
