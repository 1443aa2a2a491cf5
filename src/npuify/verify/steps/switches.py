"""Options by which a program turns CUDA on or off, such as ``--cuda``: for an original that is to run on the CPU."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ON: Final = re.compile(r"(?:use|with|enable)?[-_]?(?:cuda|gpu)(?:[-_]?id)?")
_OFF: Final = re.compile(r"(?:no|disable|without)[-_]?(?:cuda|gpu)|(?:use[-_]?)?cpu(?:[-_]?only)?")
_TRUTHS: Final = re.compile(r"bool", re.IGNORECASE)
_LARGEST: Final = 1 << 20
_MODULES: Final = 50


class Switch(NamedTuple):
    """An option that decides whether a program computes on CUDA.

    Attributes:
        options: its forms, such as ``-g`` and ``--gpu``.
        takes_value: whether a value follows it.
        on: what makes the program use CUDA: the option's words; empty where it does so without the option.
        off: the same for the CPU.
    """

    options: tuple[str, ...]
    takes_value: bool
    on: tuple[str, ...]
    off: tuple[str, ...]


def without_cuda(project: Path, words: Sequence[str]) -> tuple[str, ...]:
    """The command with what turns CUDA off in it; as it is where the program's text shows no such option.

    Args:
        project: the original's folder, or its one file.
        words: the command; its first Python file is the program.
    """
    return _turned(project, words, cuda=False)


def with_cuda(project: Path, words: Sequence[str]) -> tuple[str, ...]:
    """The command with what turns CUDA on in it; as it is where the program's text shows no such option."""
    return _turned(project, words, cuda=True)


def _turned(project: Path, words: Sequence[str], *, cuda: bool) -> tuple[str, ...]:
    made = list(words)
    for switch in switches(project, words):
        made = [*_without(made, switch), *(switch.on if cuda else switch.off)]
    return tuple(words) if sorted(made) == sorted(words) else tuple(made)


def _without(words: list[str], switch: Switch) -> list[str]:
    left: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in switch.options:
            skip = switch.takes_value
        elif not (word.partition("=")[0] in switch.options and "=" in word):
            left.append(word)
    return left


def switches(project: Path, words: Sequence[str]) -> list[Switch]:
    """The options for CUDA of the program that a command names, and of the modules beside it that it imports."""
    name = next((word for word in words if word.endswith(".py")), "")
    program = project / name if project.is_dir() else project
    if not name or not program.is_file():
        return []
    texts = list(trees(program, project if project.is_dir() else project.parent))
    calls = [node for tree in texts for node in ast.walk(tree) if isinstance(node, ast.Call)]
    found = [
        _switch(node, texts)
        for node in calls
        if isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument"
    ]
    return [one for one in found if one is not None]


def trees(program: Path, root: Path) -> Iterator[ast.Module]:
    """A program, and the modules that it imports from its own folder and from ``root``; the first 50."""
    waiting, seen = [program], {program}
    while waiting:
        path = waiting.pop()
        try:
            if path.stat().st_size > _LARGEST:
                continue
            tree = ast.parse(path.read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError):
            continue
        yield tree
        for node in ast.walk(tree):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            for name in names:
                for folder in (program.parent, root):
                    beside = folder.joinpath(*name.split(".")).with_suffix(".py")
                    if beside not in seen and len(seen) < _MODULES and beside.is_file():
                        seen.add(beside)
                        waiting.append(beside)


def _switch(call: ast.Call, trees: Sequence[ast.Module]) -> Switch | None:
    forms = tuple(one.value for one in call.args if isinstance(one, ast.Constant) and isinstance(one.value, str))
    forms = tuple(one for one in forms if one.startswith("-"))
    given = {one.arg: one.value for one in call.keywords if one.arg}
    if not forms:
        return None
    option = next((one for one in forms if one.startswith("--")), forms[0])
    name = option.lstrip("-")
    turns_on, turns_off = _ON.fullmatch(name.lower()), _OFF.fullmatch(name.lower())
    if not turns_on and not turns_off:
        return None
    action = given.get("action")
    kind = ast.unparse(action).strip("'\"") if action is not None else ""
    if kind == "store_true":
        return Switch(forms, False, (option,), ()) if turns_on else Switch(forms, False, (), (option,))
    if kind == "store_false":
        # With the destination's own name, as in args.cuda: without the option it is on.
        return Switch(forms, False, (), (option,)) if turns_on or "dest" in given else None
    if kind.endswith("BooleanOptionalAction") and turns_on:
        return Switch((*forms, f"--no-{name}"), False, (option,), (f"--no-{name}",))
    if kind or not turns_on:
        return None
    dest = given.get("dest")
    held = str(dest.value) if isinstance(dest, ast.Constant) else name.replace("-", "_")
    values = _values(given, held, trees)
    return Switch(forms, True, (option, values[0]), (option, values[1])) if values is not None else None


def _values(given: dict[str, ast.expr], held: str, trees: Sequence[ast.Module]) -> tuple[str, str] | None:
    """The values for CUDA and for the CPU of an option that takes one; None where the text does not tell them."""
    made_by, default = given.get("type"), given.get("default")
    made = ast.unparse(made_by) if made_by is not None else ""
    at_first = default.value if isinstance(default, ast.Constant) else None
    if made == "bool":
        # Every text but the empty one is true.
        return "1", ""
    if _TRUTHS.search(made) or (made.startswith("lambda") and "rue" in made):
        return "True", "False"
    number = -1 if _is_minus_one(default) else at_first
    if made == "int" or (not made and isinstance(number, int) and not isinstance(number, bool)):
        if _compared(held, trees):
            return "0", "-1"
        if _is_tested(held, trees):
            return "1", "0"
    return None


def _is_minus_one(node: ast.expr | None) -> bool:
    return node is not None and ast.unparse(node) == "-1"


def _compared(held: str, trees: Sequence[ast.Module]) -> bool:
    """Whether the program holds the value against -1, or asks whether it is below 0: a number of a card, or none."""
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare) and len(node.ops) == 1 and _is_value(node.left, held):
                other = ast.unparse(node.comparators[0])
                if other == "-1" or (other == "0" and isinstance(node.ops[0], (ast.GtE, ast.Lt))):
                    return True
    return False


def _is_tested(held: str, trees: Sequence[ast.Module]) -> bool:
    """Whether the program asks only whether the value is true."""
    tests = [
        node.test for tree in trees for node in ast.walk(tree) if isinstance(node, (ast.If, ast.IfExp)) and node.test
    ]
    return any(_is_value(test, held) for test in tests)


def _is_value(node: ast.expr, held: str) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == held) or (
        isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == held
    )
