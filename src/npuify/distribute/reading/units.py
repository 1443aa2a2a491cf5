"""The files of a project, as they are after the migration, and one of them whose nodes are all known."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.files import DEFINITIONS, FileModel
from npuify.analysis.project import ProjectIndex, module_name
from npuify.language import phrase
from npuify.project.import_graph import NOT_THEIRS
from npuify.source.python import PythonSource
from npuify.source.text import UnreadableText

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Unit(FileModel):
    """One file of the program, of whose nodes all are known with their parents and scopes."""

    def __init__(self, source: PythonSource) -> None:
        super().__init__(source)
        source.visit(range(1, len(source.text.line_starts) + 2), lambda node: None)
        self.nodes = list(ast.walk(source.tree))

    def function_around(self, node: ast.AST) -> ast.AST:
        """The function or module whose statements ``node`` belongs to; a lambda has none."""
        for up in self.ancestors(node):
            if isinstance(up, (*DEFINITIONS, ast.Module)):
                return up
        return self.source.tree

    def statement(self, node: ast.AST) -> ast.stmt:
        found = super().statement(node)
        assert found is not None, phrase("{name} stands in no statement", name=type(node).__name__)
        return found

    def block(self, statement: ast.stmt) -> tuple[list[ast.stmt], int]:
        """The list of statements that a statement stands in, and its place there."""
        parent = self.parent(statement)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(parent, name, None)
            if isinstance(block, list) and statement in block:
                return block, block.index(statement)
        return [statement], 0

    def qualname(self, node: ast.AST | None) -> str:
        """The full name of what an expression denotes; empty where it is not known."""
        return self.source.qualname(node) or "" if node is not None else ""


class Files(ProjectIndex):
    """The project's files as they are after the migration; modules are looked for beside the entry point first.

    Args:
        contents: the text of files that the migration has changed.
    """

    def __init__(self, root: Path, files: list[str], contents: Mapping[str, bytes], entry: str) -> None:
        super().__init__(root, files, [])
        self._contents = contents
        self._folder = entry.rpartition("/")[0]
        self._paths = frozenset(files)
        self._sources: dict[str, PythonSource | None] = {}
        self._brought: dict[str, bool] = {}

    def load(self, relative: str) -> PythonSource | None:
        if relative not in self._sources:
            self._sources[relative] = self._read(relative)
        return self._sources[relative]

    def model_of(self, relative: str) -> FileModel | None:
        source = self.load(relative)
        return None if source is None else FileModel(source)

    def _read(self, relative: str) -> PythonSource | None:
        try:
            raw = self._contents.get(relative)
            raw = (self.root / relative).read_bytes() if raw is None else raw
            return PythonSource(relative, module_name(relative), raw, reexport=self.reexport, star_has=self._brings)
        except (OSError, UnreadableText, SyntaxError):
            return None

    def _brings(self, qualified: str) -> bool:
        """Whether ``import *`` brings a name; modules may do so from each other."""
        if qualified not in self._brought:
            self._brought[qualified] = False
            self._brought[qualified] = self.provides(qualified)
        return self._brought[qualified]

    def file_of(self, module: str) -> str | None:
        """The file of a module, where Python looks when the entry point is started, or wherever the project has it."""
        top = module.partition(".")[0]
        if not top:
            return None
        path = "/".join([*filter(None, [self._folder]), *module.split(".")])
        for relative in (f"{path}.py", f"{path}/__init__.py"):
            if relative in self._paths:
                return relative
        found = self.modules.get(module)
        return found if found is not None or top in NOT_THEIRS else super().file_of(module)

    def files_with(self, text: bytes) -> list[str]:
        """The files in which a text stands, among those that the program imports."""
        return [relative for relative, source in self._sources.items() if source is not None and text in source.data]
