"""By what name one file of a project can import another: packages, scripts in folders, what launchers add to the path.

Files are read as text; nothing is imported. What a file imports of the project already shows from which folders its
imports are searched.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from typing import TYPE_CHECKING

from npuify.project.import_graph import ImportGraph, folders

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class ImportPaths(ImportGraph):
    """How the Python files of a project reach each other.

    Args:
        files: content of its Python files, by path relative to the root with forward slashes.
    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        super().__init__(files, lambda relative: files.get(relative, b""))
        self.imports = {relative: self.imports_in(relative) for relative in files}
        self._changes_path = frozenset(relative for relative, raw in files.items() if b"sys.path" in raw)
        self._by_own_folder: set[str] = set()
        self._votes: dict[str, Counter[str]] = {relative: Counter() for relative in files}
        self._imported_from: dict[str, Counter[str]] = {relative: Counter() for relative in files}
        for relative, found in self.imports.items():
            for name in found.absolute:
                place = self.resolve(name, relative)
                if place is not None:
                    folder, target = place
                    self._votes[relative][folder] += 1
                    own, *around = folders(relative)
                    if folder == own and not any(self.file(other, name) for other in around):
                        self._by_own_folder.add(relative)
                    if target != relative:
                        self._imported_from[target][folder] += 1

    def connected(self) -> dict[str, frozenset[str]]:
        """For each file, the project's files that imports connect with it, either way; itself is one of them."""
        leader = {relative: relative for relative in self.imports}

        def first(relative: str) -> str:
            while leader[relative] != relative:
                leader[relative] = leader[leader[relative]]
                relative = leader[relative]
            return relative

        for relative in self.imports:
            for target in self.targets(relative):
                leader[first(target)] = first(relative)
        together: dict[str, list[str]] = {}
        for relative in leader:
            together.setdefault(first(relative), []).append(relative)
        return {relative: found for found in map(frozenset, together.values()) for relative in found}

    def is_imported_by_none(self, relative: str) -> bool:
        """Whether a file outside of packages is imported by no file of the project."""
        return not self.top_package(relative) and not self._imported_from[relative]

    def top_package(self, relative: str) -> str:
        """The folder of the outermost package that a file belongs to; empty where it belongs to none."""
        folder, top = posixpath.dirname(relative), ""
        while folder and f"{folder}/__init__.py" in self._files:
            top, folder = folder, posixpath.dirname(folder)
        return top

    def _package_around(self, relative: str) -> tuple[str, str]:
        """The package by whose name a file is imported whose own folder has no ``__init__.py``, and that name."""
        own = posixpath.dirname(relative)
        outer = next((top for folder in folders(own) if (top := self.top_package(posixpath.join(folder, "x")))), "")
        if outer:
            for file in self._imported_from:
                name = self._name_of(outer, file) if posixpath.dirname(file) == own else ""
                if name:
                    return outer, name
        return "", ""

    def _name_of(self, package: str, file: str) -> str:
        """What a package's folder is called where a file in it is imported; empty where it is not, or not by it."""
        for folder in self._imported_from[file]:
            if not folder or package.startswith(f"{folder}/"):
                return package[len(folder) :].strip("/").replace("/", ".")
        return ""

    def home(self, relative: str, *, started: bool, packages: frozenset[str] | None = None) -> tuple[str, str]:
        """Where a module may stand so that a file can import it, and by which package name.

        Args:
            relative: the file.
            started: whether it is run as a script, by its path.
            packages: folders of packages that a file outside of them may take the module from; None for all.

        Returns:
            The folder, and the package as an import statement in the file has to say it (``pkg``, ``.``, ``..``);
            empty for a plain module.
        """
        top = self.top_package(relative)
        if not top and not self._searches_own_folder(relative):
            outer, name = self._package_around(relative)
            if outer:
                return outer, name
        folder = self._search_folder(relative)
        # A package of that name elsewhere may be meant, unless something shows that the folder is searched.
        shown = started or relative in self._changes_path or bool(self._imported_from[relative][folder or ""])
        inside = folder is not None and shown and (folder == top or folder.startswith(f"{top}/"))
        relatively = bool(self.imports[relative].relative)
        if top and (relatively or not inside):
            own = posixpath.basename(top)
            names = self.imports[relative].absolute
            says_own = any(name == own or name.startswith(f"{own}.") for name in names)
            if relatively or (not says_own and not started):
                below = posixpath.dirname(relative)[len(top) :].strip("/")
                return top, "." * (1 + (below.count("/") + 1 if below else 0))
            # What others import through its package cannot count on being started, even where it can be.
            if says_own or self._name_of(top, relative):
                return top, own if says_own else self._name_of(top, relative)
        own_folder = posixpath.dirname(relative)
        if folder is None or (top and not inside):
            folder = own_folder
        said = list(self._packages_said(relative, folder))
        for package in said:
            place = posixpath.join(folder, package.replace(".", "/"))
            if packages is None or place in packages:
                return place, package
        if said and started and folder != own_folder and not self._says_module(relative, folder):
            # The packages may be installed, and then the folder that they lie in is not searched.
            return posixpath.join(folder, said[0].replace(".", "/")), said[0]
        return folder, ""

    def _search_folder(self, relative: str) -> str | None:
        """The folder from which the file is known to import, or to be imported; None where nothing shows it."""
        if self._searches_own_folder(relative):
            return posixpath.dirname(relative)
        if self._imported_from[relative]:
            return self._imported_from[relative].most_common(1)[0][0]
        if self._votes[relative]:
            own = posixpath.dirname(relative)
            votes = self._votes[relative]
            return own if votes[own] else votes.most_common(1)[0][0]
        return None

    def _searches_own_folder(self, relative: str) -> bool:
        """Whether a file imports its neighbours by their names alone, and not by chance.

        In a package such a name may be that of an installed module, unless the file puts folders on the path.
        """
        return relative in self._by_own_folder and (not self.top_package(relative) or relative in self._changes_path)

    def _packages_said(self, relative: str, folder: str) -> Iterator[str]:
        """Packages of the project that a file outside of them imports already, from ``folder``."""
        for name in self.imports[relative].absolute:
            parts = name.split(".")
            for length in range(1, len(parts) + 1):
                if posixpath.join(folder, *parts[:length], "__init__.py") in self._files:
                    yield ".".join(parts[:length])
                    break

    def _says_module(self, relative: str, folder: str) -> bool:
        """Whether a file imports a module of the project that lies in ``folder`` itself, in no package."""
        names = self.imports[relative].absolute
        return any(posixpath.join(folder, f"{name}.py") in self._files for name in names if "." not in name)
