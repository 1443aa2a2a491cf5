"""What a program does about its processes: which variables and arguments it reads, how it joins the process group.

The program is read, never imported or run.
"""

from __future__ import annotations

import ast
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.project.import_graph import imports_of
from npuify.source.python import PythonSource
from npuify.source.text import UnreadableText

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_FILES: Final = 300
"""Files of the program that are looked at, nearest the entry first."""

RANK_VARIABLES: Final = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
STARTERS: Final = ("accelerate", "transformers", "lightning", "pytorch_lightning", "deepspeed", "mmengine", "megatron")
"""Frameworks that join the process group by themselves, from the environment."""
_JOIN: Final = ("torch.distributed.init_process_group", "torch.distributed.distributed_c10d.init_process_group")
_SAMPLER: Final = ("torch.utils.data.distributed.DistributedSampler", "torch.utils.data.DistributedSampler")
_SPAWN: Final = (
    "torch.multiprocessing.spawn",
    "torch.multiprocessing.spawn.spawn",
    "torch.multiprocessing.start_processes",
)
_READERS: Final = ("os.environ.get", "os.getenv", "os.environ.setdefault", "os.environ.pop")
_WORDS: Final = re.compile(
    rb"RANK|MASTER_|local[_-]rank|init_process_group|DistributedSampler|spawn|start_processes|device_count|mpi4py"
)
"""A file without any of them has nothing to tell, and is not parsed."""


class Place(NamedTuple):
    """A node of one of the program's files."""

    source: PythonSource
    node: ast.AST

    @property
    def file(self) -> str:
        """Relative to the folder in which the program runs."""
        return self.source.relative

    @property
    def line(self) -> int:
        """From 1."""
        return int(getattr(self.node, "lineno", 0))

    @property
    def code(self) -> str:
        """The source text."""
        return self.source.code(self.node)


class Program:
    """The files of a program, and what concerns its processes in them.

    Args:
        entry: the program's file.
        folder: the folder in which it runs; names of files are relative to it.
    """

    def __init__(self, entry: Path, folder: Path) -> None:
        self.reads: dict[str, Place] = {}
        """Variables that are read, with the first place."""
        self.writes: list[tuple[str, Place]] = []
        """``os.environ["X"] = …``"""
        self.rank_arguments: list[Place] = []
        """``add_argument("--local_rank", …)``"""
        self.joins: list[Place] = []
        """Calls of ``init_process_group``."""
        self.samplers: list[Place] = []
        """Calls of ``DistributedSampler``."""
        self.spawns: list[Place] = []
        """Calls of ``torch.multiprocessing.spawn``."""
        self.starters: set[str] = set()
        """Frameworks that are imported and join by themselves."""
        self.mpi: Place | None = None
        """Where ``mpi4py`` is imported."""
        self.counts_cards = False
        """Whether it takes its rank modulo the number of cards."""
        self.unread: list[str] = []
        """Files that could not be parsed."""
        for path in _files(entry.resolve(), folder.resolve()):
            self._read(path, folder.resolve())

    @classmethod
    def unknown(cls) -> Program:
        """A program of which no file was found."""
        made = cls.__new__(cls)
        made.reads, made.writes, made.rank_arguments, made.joins = {}, [], [], []
        made.samplers, made.spawns, made.starters, made.unread = [], [], set(), []
        made.mpi, made.counts_cards = None, False
        return made

    def _read(self, path: Path, folder: Path) -> None:
        name = path.relative_to(folder).as_posix() if folder in path.parents else str(path)
        try:
            raw = path.read_bytes()
            tops = {module.partition(".")[0] for module in imports_of(raw).absolute}
            self.starters |= tops & set(STARTERS)
            if _WORDS.search(raw) is None:
                return
            source = PythonSource(name, "", raw)
        except (OSError, UnreadableText, SyntaxError):
            self.unread.append(name)
            return
        lines = range(1, source.data.count(b"\n") + 2)
        source.visit(lines, lambda node: self._look(Place(source, node)))

    def _look(self, place: Place) -> None:
        node = place.node
        if isinstance(node, ast.Call):
            self._call(place, node)
        elif isinstance(node, ast.Subscript):
            name = _constant(node.slice)
            if name in RANK_VARIABLES and place.source.qualname(node.value) == "os.environ":
                if isinstance(node.ctx, ast.Load):
                    self.reads.setdefault(name, place)
                elif isinstance(node.ctx, ast.Store):
                    self.writes.append((name, place))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            if self.mpi is None and any(module.partition(".")[0] == "mpi4py" for module in modules):
                self.mpi = place
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.right, ast.Call):
            called = place.source.qualname(node.right.func) or ""
            self.counts_cards = self.counts_cards or called.rpartition(".")[2] == "device_count"
        elif isinstance(node, ast.Constant) and node.value == "LOCAL_RANK":
            outer = place.source.parent(node)
            if not (isinstance(outer, ast.Subscript) and isinstance(outer.ctx, ast.Store)):
                self.reads.setdefault("LOCAL_RANK", place)

    def _call(self, place: Place, node: ast.Call) -> None:
        name = place.source.qualname(node.func)
        if name in _JOIN:
            self.joins.append(place)
        elif name in _SAMPLER:
            self.samplers.append(place)
        elif name in _SPAWN:
            self.spawns.append(place)
        elif name in _READERS:
            variable = _constant(node.args[0]) if node.args else None
            if variable in RANK_VARIABLES:
                self.reads.setdefault(variable, place)
        elif isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            if {"--local_rank", "--local-rank"} & set(map(_constant, node.args)):
                self.rank_arguments.append(place)

    @property
    def joins_group(self) -> bool:
        """Whether anything in it joins a process group, as far as can be seen."""
        return bool(self.joins or self.starters)


def unconditional(place: Place) -> bool:
    """Whether a statement is reached whatever the arguments: no condition around it but that of a main guard."""
    for outer in place.source.ancestors(place.node):
        if isinstance(outer, ast.If) and "__name__" not in place.source.code(outer.test):
            return False
        if isinstance(outer, (ast.Try, ast.For, ast.While, ast.IfExp, ast.Match)):
            return False
    return True


def keyword(call: ast.AST, name: str) -> ast.keyword | None:
    """The keyword argument ``name`` of a call."""
    return next((one for one in getattr(call, "keywords", ()) if one.arg == name), None)


def _constant(node: ast.AST) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _files(entry: Path, folder: Path) -> Iterator[Path]:
    """The program's own files, as far as its imports name them: the entry first."""
    seen = {entry}
    pending = [entry]
    while pending and len(seen) <= _MOST_FILES:
        current = pending.pop(0)
        yield current
        try:
            imports = imports_of(current.read_bytes())
        except OSError:
            continue
        homes = list(dict.fromkeys((entry.parent, folder)))
        found = [Path(home, *name.split(".")) for name in imports.absolute for home in homes]
        for name in imports.relative:
            dots = len(name) - len(name.lstrip("."))
            home = Path(posixpath.normpath(current.parent.joinpath(*[".."] * (dots - 1)).as_posix()))
            found.append(home.joinpath(*filter(None, name[dots:].split("."))))
        for base in found:
            for path in (base.with_name(base.name + ".py"), base / "__init__.py"):
                if path not in seen and path.is_file():
                    seen.add(path)
                    pending.append(path)
