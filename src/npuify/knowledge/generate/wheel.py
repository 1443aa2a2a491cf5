"""A wheel as a source of text: nothing in it is imported or run."""

from __future__ import annotations

import ast
import hashlib
import warnings
import zipfile
from email.parser import Parser
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import NpuifyError

if TYPE_CHECKING:
    from pathlib import Path


class Wheel:
    """An opened wheel. ``version`` is what its METADATA says, which an archive's name could contradict."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile) as error:
            raise NpuifyError(phrase("not a readable wheel: {error}", error=error), file=str(path)) from error
        self._names = frozenset(self._zip.namelist())
        metadata = next((n for n in self._names if n.endswith(".dist-info/METADATA") and n.count("/") == 1), None)
        if metadata is None:
            raise NpuifyError("the wheel has no METADATA", file=str(path))
        self.metadata = Parser().parsestr(self._zip.read(metadata).decode("utf-8"))
        self.version: str = self.metadata["Version"]
        self._trees: dict[str, ast.Module | None] = {}

    def sha256(self) -> str:
        """The digest of the archive, in hexadecimal."""
        digest = hashlib.sha256()
        with self.path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
        return digest.hexdigest()

    def text(self, name: str) -> str | None:
        """The member ``name`` as text, or None where there is none."""
        return self._zip.read(name).decode("utf-8", "replace") if name in self._names else None

    def data(self, name: str) -> bytes | None:
        """The member ``name``, or None where there is none."""
        return self._zip.read(name) if name in self._names else None

    def has_module(self, module: str) -> bool:
        """Whether ``module`` is a Python file or package of the wheel."""
        path = module.replace(".", "/")
        return f"{path}.py" in self._names or f"{path}/__init__.py" in self._names

    def is_package(self, module: str) -> bool:
        """Whether ``module`` is a package, so that relative imports count from itself."""
        return f"{module.replace('.', '/')}/__init__.py" in self._names

    def submodules(self, package: str) -> list[str]:
        """Direct Python submodules of ``package``, by their full names, sorted."""
        prefix = package.replace(".", "/") + "/"
        found = set()
        for name in self._names:
            if name.startswith(prefix) and name.endswith(".py"):
                parts = name[len(prefix) :].split("/")
                if len(parts) == 1 and parts[0] != "__init__.py":
                    found.add(f"{package}.{parts[0][:-3]}")
                elif len(parts) == 2 and parts[1] == "__init__.py":
                    found.add(f"{package}.{parts[0]}")
        return sorted(found)

    def tree(self, module: str) -> ast.Module | None:
        """The syntax tree of ``module``; None where the wheel lacks it or it does not parse."""
        if module not in self._trees:
            path = module.replace(".", "/")
            text = self.text(f"{path}/__init__.py") or self.text(f"{path}.py")
            if text is None:
                text = "" if self.has_module(module) else None
            tree = None
            if text is not None:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        tree = ast.parse(text)
                    except (SyntaxError, ValueError):
                        tree = None
            self._trees[module] = tree
        return self._trees[module]

    def close(self) -> None:
        """Release the archive."""
        self._zip.close()
