"""Where a command is started: in the project's own folder, or in one below it, as ``cd FOLDER && python train.py``."""

from __future__ import annotations

import ast
import os
import posixpath
import re
import shlex
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.language import phrase
from npuify.model import NpuifyError

from .switches import trees

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PLAIN: Final = re.compile(r"(?:[\w@%+=:,./-]|\{\w+\})+")
_NAME: Final = re.compile(r"(?:\.{1,2}/)*[\w.-]+(?:/[\w.-]+)*/?")
"""A relative path as programs write it."""
_JOINS: Final = ("join", "joinpath")
_WHOLE: Final = ("abspath", "realpath", "resolve")
_SHOWN: Final = 3


class Start(NamedTuple):
    """A command.

    Attributes:
        folder: where it is started, relative to the project's folder; empty: there.
        words: the program and its arguments, without ``python``.
    """

    folder: str
    words: tuple[str, ...]


def split(text: str) -> Start:
    """A command as a person writes it, with ``cd FOLDER &&`` before it or without.

    Raises:
        NpuifyError: it is no command, is several, or its folder is not below the project's.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise NpuifyError(phrase("{text!r} is not a command: {error}", text=text, error=error)) from None
    folder = ""
    if words[:1] == ["cd"]:
        name, rest = "".join(words[1:2]), words[2:]
        if name.endswith(";"):
            name, rest = name[:-1], ["&&", *rest]
        if not name or rest[:1] not in (["&&"], [";"]) or not rest[1:]:
            raise NpuifyError(
                phrase("{text!r} is not a command", text=text), advice='for example "cd FOLDER && python train.py"'
            )
        folder, words = posixpath.normpath(name.replace(os.sep, "/")), rest[1:]
        if folder.startswith(("/", "..")) or Path(name).is_absolute():
            raise NpuifyError(phrase("{folder} is not a folder of the project", folder=name))
        folder = "" if folder == "." else folder
    if {"&&", "||"} & set(words):
        raise NpuifyError(
            phrase("{text!r} is more than one command", text=text),
            advice="what has to run first is given with --prepare; only cd FOLDER && may stand before a program",
        )
    return Start(folder, tuple(words[1:] if words[:1] in (["python"], ["python3"]) else words))


def in_a_line(words: Sequence[str], folder: str = "") -> str:
    """A command as a person types it, quoted where a shell needs that; ``{device}`` and ``{backend}`` stay."""
    line = " ".join(word if _PLAIN.fullmatch(word) else shlex.quote(word) for word in words)
    if not folder:
        return line
    return f"cd {shlex.quote(folder)} && {'python ' if words[0].endswith('.py') else ''}{line}"


def moved(words: Sequence[str], folder: str) -> tuple[str, ...]:
    """A command of the project's folder as it is written in ``folder``: its program has another path there."""
    program = next((word for word in words if word.endswith(".py")), "")
    return tuple(posixpath.relpath(word, folder) if word == program else word for word in words)


def needed(project: Path, words: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The folder that a program has to be started in, as its text tells: where most of the files that it names lie.

    What counts are relative paths that are there, and relative entries of ``sys.path`` from which the project's own
    modules are imported. The project's folder is left only for one where more is found.

    Args:
        project: the project's folder.
        words: the command, with paths from there.

    Returns:
        The folder, empty for the project's own, and the first names that are found there alone.
    """
    program = next((word for word in words if word.endswith(".py")), "")
    path = project / program
    if "/" not in program or PurePosixPath(program).is_absolute() or ".." in program or not path.is_file():
        return "", ()
    texts = list(trees(path, project))
    names = sorted({name for tree in texts for name in _names(tree)})
    ways = sorted({way for tree in texts for way in _ways(tree)})
    tops = sorted({top for tree in texts for top in _imported(tree)})
    own = {one for one in tops if _is_module(path.parent, one) or _is_module(project, one, installed=True)}
    folders = [parent.as_posix() for parent in PurePosixPath(program).parents]
    seen: dict[str, set[str]] = {}
    for folder in folders:
        here = project / folder
        seen[folder] = {name for name in names if _is_there(project, here, name)}
        for way in ways:
            if _is_there(project, here, way):
                seen[folder] |= {way for one in tops if one not in own and _is_module(here / way, one)}
    # The nearest to the program, but the project's folder where that has as much.
    best = max(folders, key=lambda one: (len(seen[one]), one == ".", one.count("/")))
    if best == "." or not all(_is_found(project, project / best, word) for word in words if word != program):
        return "", ()
    return best, tuple(sorted(seen[best] - seen["."])[:_SHOWN])


def _names(tree: ast.Module) -> Iterator[str]:
    """Relative paths of files and folders that stand in a module, and do not begin elsewhere."""
    behind = set[ast.AST]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            attribute = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            joined = node.args[1:] if attribute == "join" else node.args
            behind.update(joined if attribute in _JOINS else ())
        elif isinstance(node, ast.BinOp):
            behind.add(node.right)
        elif isinstance(node, ast.JoinedStr):
            behind.update(node.values)
        elif isinstance(node, ast.Expr):
            behind.add(node.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in behind:
            name = node.value
            if len(name) < 200 and _NAME.fullmatch(name) and ("/" in name or "." in name) and name.strip("./"):
                yield name


def _ways(tree: ast.Module) -> Iterator[str]:
    """Relative folders that a module puts into ``sys.path``."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        if node.func.attr in ("append", "insert") and ast.unparse(node.func.value) == "sys.path":
            given = node.args[-1]
            while isinstance(given, ast.Call) and given.args and _called(given) in _WHOLE:
                given = given.args[0]
            if isinstance(given, ast.Constant) and isinstance(given.value, str) and _NAME.fullmatch(given.value):
                yield given.value


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _is_module(folder: Path, name: str, *, installed: bool = False) -> bool:
    """Whether ``name`` is imported from ``folder``; ``installed``: only where the project there is a package."""
    if installed and not any((folder / one).is_file() for one in ("setup.py", "setup.cfg", "pyproject.toml")):
        return False
    return (folder / f"{name}.py").is_file() or (folder / name).is_dir()


def _is_there(project: Path, folder: Path, name: str) -> bool:
    """Whether there is such a file or folder, in the project: a copy of it is what programs run in."""
    inside, root = Path(os.path.normpath(folder / name)), Path(os.path.normpath(project))
    return inside.is_relative_to(root) and inside.exists()


def _is_found(project: Path, folder: Path, word: str) -> bool:
    """Whether an argument means the same in ``folder``: it is no path of the project's folder, or is there too."""
    value = word.rpartition("=")[2]
    return not value or not _is_there(project, project, value) or _is_there(project, folder, value)
