"""Finds the files of a project, quickly."""
# Path objects would take most of the time of a walk.
# ruff: noqa: PTH100, PTH110, PTH118, PTH119, PTH120, PTH123

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from npuify.language import phrase
from npuify.model import FileError, NpuifyError
from npuify.project.ignores import IgnoreRules, escape
from npuify.project.kinds import MAY_BE_SCRIPTS, kind_of, kind_of_path, kind_of_shebang
from npuify.project.repository import Repository, index_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

SKIPPED_FOLDERS: Final = frozenset(
    {
        ".bzr",
        ".eggs",
        ".git",
        ".hg",
        ".ipynb_checkpoints",
        ".jj",
        ".mypy_cache",
        ".nox",
        ".pants.d",
        ".pytest_cache",
        ".ruff_cache",
        ".svn",
        ".tox",
        ".venv",
        "__pycache__",
        "__pypackages__",
        "node_modules",
        "npuify-report",
        "site-packages",
    }
)
"""Folders that hold no source of the project, wherever they lie. Virtual environments are known by their pyvenv.cfg."""
IGNORED_BY_GIT: Final = "npuify-report/ignored.txt"
"""Names, in a migrated copy, what git ignored in the project. A copy has no ``.git`` that could tell."""


class ProjectFile(msgspec.Struct, frozen=True, order=True):
    """One file of a project."""

    relative: str
    """Path relative to the project's root, with forward slashes. Bytes that are not UTF-8 are surrogates in it."""
    location: str
    """Path by which the file can be opened."""
    kind: str
    """As ``kind_of`` tells: "python", "notebook", "shell", "yaml", …, "other"."""

    @property
    def path(self) -> Path:
        """``location`` as a path object; built on demand, because building it costs more than finding the file."""
        return Path(self.location)


def common_root(roots: Sequence[Path | str]) -> Path:
    """The folder to which the ``relative`` of found files refers.

    One folder: itself. One file: the folder that holds it. Several: the deepest folder that holds them all.

    Raises:
        NpuifyError: there is no such folder (two drives), or ``roots`` is empty.
    """
    if not roots:
        raise NpuifyError("no path was given", advice="name a folder or a file, for example: npuify scan .")
    folders = [root if root.is_dir() else root.parent for root in map(Path, roots)]
    if len(folders) == 1:
        return folders[0]
    try:
        return Path(os.path.commonpath([os.path.abspath(folder) for folder in folders]))
    except ValueError:
        raise NpuifyError("the paths lie on different drives", advice="scan each drive by itself") from None


def find_files(
    roots: Sequence[Path | str],
    *,
    exclude: Iterable[str] = (),
    respect_gitignore: bool = True,
    outside_repositories: bool = False,
    kinds: Collection[str] | None = None,
    errors: list[FileError] | None = None,
    rests_on: list[str] | None = None,
) -> list[ProjectFile]:
    """The files below ``roots``, sorted by path, each once.

    Symbolic links are not followed: what they point at inside the tree is found by its own name, and what lies outside
    is not part of the project. A path named in ``roots`` is taken even where a pattern ignores it.

    Args:
        roots: folders and files.
        exclude: patterns as in .gitignore, relative to ``common_root(roots)``.
        respect_gitignore: in a git repository, leave out what .gitignore files (nested ones, those of enclosing
            folders of the same repository, and .git/info/exclude) name and git does not track.
        outside_repositories: respect them elsewhere, too. An archive of a repository holds only what git tracks, so
            there they would leave out parts of the project.
        kinds: keep only these kinds; None keeps all.
        errors: gets an entry for each folder that cannot be read. Where it is None, such a folder raises.
        rests_on: gets the folders that were looked into, and the files that say what git ignores or tracks.

    Raises:
        NpuifyError: a root does not exist, or a folder cannot be read and ``errors`` is None.
    """
    base = common_root(roots)
    found: dict[str, ProjectFile] = {}
    excluded = IgnoreRules(exclude)
    for root in map(Path, roots):
        if not root.exists():
            raise NpuifyError("there is no such file or folder", file=str(root))
        if root.is_dir():
            walk = _Walk(base, excluded, respect_gitignore, outside_repositories, kinds, errors, found)
            walk.folder(root)
            if rests_on is not None:
                rests_on += walk.rests_on()
        else:
            relative = _relative(root, base)
            kind = kind_of(root.name)
            if kind == "other":
                kind = _kind_of_content(str(root))
            if kinds is None or kind in kinds:
                found[relative] = ProjectFile(relative, str(root), kind)
    return [found[relative] for relative in sorted(found)]


def ignored_files(root: Path, exclude: Iterable[str] = ()) -> str:
    """What ``find_files`` leaves out below a folder because git ignores it, as lines of a .gitignore file."""
    found: list[str] = []
    walk = _Walk(root, IgnoreRules(exclude), True, False, None, [], {}, found)
    walk.folder(root)
    return "".join(f"/{escape(path)}\n" for path in sorted(found) if "\n" not in path)


class _Folder(NamedTuple):
    """A folder to walk."""

    location: str
    prefix: str
    """Its path below the common root, with a final slash."""
    rules: tuple[IgnoreRules, ...]
    repository: Repository | None
    """The repository that it belongs to."""
    is_ignored: bool = False
    """Whether only what git tracks in it is looked at."""


class _Walk:
    def __init__(
        self,
        base: Path,
        excluded: IgnoreRules,
        respect_gitignore: bool,
        outside_repositories: bool,
        kinds: Collection[str] | None,
        errors: list[FileError] | None,
        found: dict[str, ProjectFile],
        ignored: list[str] | None = None,
    ) -> None:
        self.base = base
        self.excluded = excluded
        self.respect_gitignore = respect_gitignore
        self.outside_repositories = outside_repositories
        self.kinds = kinds
        self.errors = errors
        self.found = found
        self.ignored = ignored
        self._looked_at: list[str] = []
        self._repositories: list[Repository] = []
        self.above = ""
        """Path of ``base`` below the top of its repository, with a final slash; put before paths for outer rules."""

    def rests_on(self) -> list[str]:
        """The folders that were looked into, and the files that say what git ignores or tracks."""
        indexes = (index_of(one.top) for one in self._repositories if one.is_read)
        return [*self._looked_at, *(index for index in indexes if index)]

    def _repository(self, top: str, skip: int) -> Repository:
        self._repositories.append(Repository(top, skip))
        return self._repositories[-1]

    def _rules(self, location: str, skip: int) -> IgnoreRules | None:
        self._looked_at.append(location)
        return _read_rules(location, skip)

    def folder(self, root: Path) -> None:
        relative = _relative(root, self.base)
        prefix = "" if relative == "." else relative + "/"
        stack: list[_Folder] = [_Folder(str(root), prefix, *self._outer_rules(root))]
        while stack:
            location, prefix, rules, repository, is_ignored = stack.pop()
            self._looked_at.append(location)
            try:
                with os.scandir(location) as scan:
                    entries = list(scan)
            except OSError as error:
                self._unreadable(prefix, error)
                continue
            names = {entry.name for entry in entries} if self.respect_gitignore else ()
            if ".git" in names and (repository is None or repository.top != os.path.abspath(location)):
                # A repository of its own, such as a submodule.
                repository = self._repository(os.path.abspath(location), len(self.above) + len(prefix))
            if ".gitignore" in names and (repository is not None or self.outside_repositories):
                own = self._rules(os.path.join(location, ".gitignore"), len(self.above) + len(prefix))
                rules = (*rules, own) if own else rules
            if "npuify-report" in names:
                own = self._rules(os.path.join(location, IGNORED_BY_GIT), len(self.above) + len(prefix))
                rules = (*rules, own) if own else rules
            folder = _Folder(location, prefix, rules, repository, is_ignored)
            for entry in entries:
                self._entry(entry, folder, stack)

    def _entry(self, entry: os.DirEntry[str], folder: _Folder, stack: list[_Folder]) -> None:
        name, prefix = entry.name, folder.prefix
        try:
            if entry.is_dir(follow_symlinks=False):
                relative = prefix + name + "/"
                if (
                    name in SKIPPED_FOLDERS
                    or self._is_excluded(relative, name)
                    or _is_junction(entry)
                    or os.path.exists(os.path.join(entry.path, "pyvenv.cfg"))
                ):
                    return
                is_ignored = self._is_ignored(relative, name, folder)
                if not is_ignored or self._is_tracked(relative, folder):
                    stack.append(folder._replace(location=entry.path, prefix=relative, is_ignored=is_ignored))
                elif self.ignored is not None:
                    self.ignored.append(relative)
                return
            if not entry.is_file(follow_symlinks=False):
                return
            kind = kind_of(name)
            if kind == "text":
                kind = kind_of_path(prefix + name)
            if kind == "other" and (name.endswith(MAY_BE_SCRIPTS) or ("." not in name and _may_be_script(entry))):
                kind = _kind_of_content(entry.path)
        except OSError as error:
            self._unreadable(prefix + name, error)
            return
        if self.kinds is not None and kind not in self.kinds:
            return
        relative = prefix + name
        if self._is_excluded(relative, name):
            return
        if not self._is_ignored(relative, name, folder) or self._is_tracked(relative, folder):
            self.found[relative] = ProjectFile(relative, entry.path, kind)
        elif self.ignored is not None and kind != "other":
            self.ignored.append(relative)

    def _is_excluded(self, relative: str, name: str) -> bool:
        return bool(self.excluded) and self.excluded.ignores(relative, name) is True

    def _is_ignored(self, relative: str, name: str, folder: _Folder) -> bool:
        """Whether .gitignore files name an entry, or the folder that it lies in."""
        if folder.is_ignored:
            return True
        path = self.above + relative
        for one in reversed(folder.rules):
            verdict = one.ignores(path[one.skip :], name)
            if verdict is not None:
                return verdict
        return False

    def _is_tracked(self, relative: str, folder: _Folder) -> bool:
        repository = folder.repository
        return repository is not None and repository.tracks((self.above + relative)[repository.skip :])

    def _outer_rules(self, root: Path) -> tuple[tuple[IgnoreRules, ...], Repository | None]:
        """Rules of the enclosing folders of ``root``, up to the top of its repository; none outside a repository."""
        if not self.respect_gitignore:
            return (), None
        absolute = os.path.abspath(root)
        top = absolute
        while not os.path.exists(os.path.join(top, ".git")):
            parent = os.path.dirname(top)
            if parent == top:
                return (), None
            top = parent
        below_top = _slashes(os.path.relpath(os.path.abspath(self.base), top))
        if below_top.startswith(".."):
            return self._rules_of_repository_inside(absolute, top)
        self.above = "" if below_top == "." else below_top + "/"
        return self._collect(absolute, top, offset=0), self._repository(top, 0)

    def _rules_of_repository_inside(self, absolute: str, top: str) -> tuple[tuple[IgnoreRules, ...], Repository]:
        """As ``_outer_rules``, where the repository begins below the common root of several roots."""
        offset = len(_slashes(os.path.relpath(top, os.path.abspath(self.base)))) + 1
        self.above = ""
        return self._collect(absolute, top, offset=offset), self._repository(top, offset)

    def _collect(self, absolute: str, top: str, offset: int) -> tuple[IgnoreRules, ...]:
        rules = []
        info = self._rules(os.path.join(top, ".git", "info", "exclude"), offset)
        if info:
            rules.append(info)
        below = "" if absolute == top else _slashes(os.path.relpath(absolute, top))
        folder, skip = top, offset
        for part in below.split("/") if below else ():
            own = self._rules(os.path.join(folder, ".gitignore"), skip)
            if own:
                rules.append(own)
            folder = os.path.join(folder, part)
            skip += len(part) + 1
        # A root that is ignored itself was named on purpose; rules that would empty it do not count.
        path, name = below + "/", os.path.basename(absolute)
        return tuple(rule for rule in rules if not (below and rule.ignores(path[rule.skip - offset :], name)))

    def _unreadable(self, relative: str, error: OSError) -> None:
        place = relative.rstrip("/") or "."
        message = phrase("cannot be read: {value}", value=error.strerror or error)
        if self.errors is None:
            raise NpuifyError(message, file=place) from error
        self.errors.append(FileError(place, message, advice="nothing below it was looked at"))


def _read_rules(location: str, skip: int) -> IgnoreRules | None:
    try:
        with open(location, encoding="utf-8", errors="surrogateescape") as stream:
            rules = IgnoreRules(stream.read().removeprefix("\ufeff").splitlines(), skip=skip)
    except OSError:
        return None
    return rules or None


def _relative(path: Path, base: Path) -> str:
    if path == base:
        return "."
    return _slashes(os.path.relpath(os.path.abspath(path), os.path.abspath(base)))


def _slashes(path: str) -> str:
    return path.replace(os.sep, "/") if os.sep != "/" else path


def _is_junction(entry: os.DirEntry[str]) -> bool:
    """Whether a Windows folder is a junction, which ``is_symlink`` does not tell and which may lead in a circle."""
    if sys.platform != "win32":
        return False
    return entry.stat(follow_symlinks=False).st_reparse_tag == stat.IO_REPARSE_TAG_MOUNT_POINT


def _may_be_script(entry: os.DirEntry[str]) -> bool:
    """Executable files only, so that a data set of a million nameless files is not opened one by one."""
    return sys.platform == "win32" or bool(entry.stat(follow_symlinks=False).st_mode & stat.S_IXUSR)


def _kind_of_content(location: str) -> str:
    try:
        with open(location, "rb") as stream:
            return kind_of_shebang(stream.readline(256))
    except OSError:
        return "other"
