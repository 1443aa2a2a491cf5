"""The list of projects: a file that names folders and addresses for git, or a folder that holds checkouts."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from npuify.fleet.model import Source
from npuify.language import phrase
from npuify.model import NpuifyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SCHEMES: Final = ("https", "ssh", "file")
_SHORT_SSH: Final = re.compile(r"(?![A-Za-z]:[\\/])(?:[^/@:\s]+@)?[^/@:\s]+:(?!//|:)\S")
"""``git@host:team/project.git``, and no path of Windows."""
_REVISION: Final = re.compile(r"[\w][\w./+-]*")
_LARGEST_LIST: Final = 16 << 20
_DEEPEST: Final = 3
"""Levels of folders that only hold folders, as groups of a server do."""


def read_sources(place: Path) -> list[Source]:
    """The projects of a list, in its order, each once.

    Args:
        place: a file with one project a line (a folder, relative to the file's own, or an address for git, with
            ``@REVISION`` behind it where not the newest is meant; ``#`` begins a remark), or a folder that holds
            checkouts.

    Raises:
        NpuifyError: there is no such list, it names nothing, or a line cannot be a project.
    """
    if not place.exists():
        raise NpuifyError(
            "there is no such list",
            advice="name a file with a folder or an address for git in each line, or a folder that holds checkouts",
            file=str(place),
        )
    sources = list(_in_folder(place)) if place.is_dir() else list(_in_file(place))
    if not sources:
        raise NpuifyError("names no project", file=str(place))
    return _named(_distinct(sources))


# --- a folder ---


def _in_folder(place: Path) -> Iterator[Source]:
    if (place / ".git").exists():
        raise NpuifyError(
            "is one project, not a folder that holds projects",
            advice="name the folder above it, or scan it alone with npuify scan",
            file=str(place),
        )
    for folder in _projects(Path(os.path.abspath(place)), _DEEPEST):  # noqa: PTH100
        yield _folder(folder)


def _projects(place: Path, depth: int) -> Iterator[Path]:
    """The folders below ``place``; in place of one that only holds checkouts, as a group of a server, these."""
    try:
        folders = sorted(one for one in place.iterdir() if one.is_dir() and not one.name.startswith("."))
    except OSError as error:
        raise NpuifyError(error.strerror or str(error), file=str(place)) from error
    for folder in folders:
        if depth > 1 and _is_group(folder):
            yield from _projects(folder, depth - 1)
        else:
            yield folder


def _is_group(folder: Path) -> bool:
    """Whether a folder is no project, and holds checkouts."""
    if (folder / ".git").exists():
        return False
    try:
        inside = [one for one in folder.iterdir() if not one.name.startswith(".")]
    except OSError:
        return False
    return bool(inside) and all(one.is_dir() for one in inside) and any((one / ".git").exists() for one in inside)


# --- a file ---


def _in_file(place: Path) -> Iterator[Source]:
    try:
        if place.stat().st_size > _LARGEST_LIST:
            raise NpuifyError("is too large for a list of projects", file=str(place))
        text = place.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise NpuifyError(error.strerror or str(error), file=str(place)) from error
    except UnicodeDecodeError:
        raise NpuifyError("is not a text file in UTF-8", file=str(place)) from None
    for number, line in enumerate(text.splitlines(), start=1):
        said = re.sub(r"(^|\s)#.*", "", line).strip()
        if said:
            try:
                yield source_of(said, place.parent)
            except NpuifyError as error:
                raise NpuifyError(error.message, advice=error.advice, file=str(place), line=number) from None


def source_of(said: str, base: Path) -> Source:
    """The project that a line names.

    Args:
        said: a folder or an address.
        base: what a folder is relative to.

    Raises:
        NpuifyError: it is an address that is not fetched.
    """
    if not said.isprintable():
        raise NpuifyError("has characters that cannot be printed")
    if "://" in said or "::" in said or _SHORT_SSH.match(said):
        address, revision = _address(said)
        return Source(address, _last(address), address, revision, is_git=True)
    return _folder(Path(os.path.abspath(base / Path(said).expanduser())))  # noqa: PTH100


def _folder(folder: Path) -> Source:
    return Source(str(folder), folder.name or str(folder), str(folder))


def _address(said: str) -> tuple[str, str]:
    """The address and the revision behind it. What git could take as an option or as a program to run is refused."""
    scheme, slashes, rest = said.partition("://")
    if slashes:
        host, slash, path = rest.partition("/")
        path, _, revision = path.rpartition("@") if "@" in path else (path, "", "")
        address = f"{scheme}://{host}{slash}{path}"
        parts = urlsplit(address)
        if scheme.lower() not in _SCHEMES:
            raise NpuifyError(
                phrase("{scheme} is no way by which projects are fetched", scheme=scheme),
                advice="write an address that begins with https://, ssh:// or file://",
            )
        if parts.password:
            raise NpuifyError(
                "holds a password",
                advice="leave it to git's own credential helper; a list of projects is no place for it",
            )
        host = parts.hostname or ""
        if (scheme.lower() == "file") != (not host) or not parts.path.strip("/"):
            raise NpuifyError("is no whole address", advice="for example: https://host/team/project.git@v1.0")
    elif "::" in said:
        raise NpuifyError(
            "names a program for git to run", advice="write an address that begins with https://, ssh:// or file://"
        )
    else:
        place, _, path = said.partition(":")
        path, _, revision = path.rpartition("@") if "@" in path else (path, "", "")
        address, host = f"{place}:{path}", place.rpartition("@")[2]
    if host.startswith("-") or path.lstrip("/").startswith("-") or address.startswith("-"):
        raise NpuifyError("would be read as an option of git or ssh")
    if revision and (not _REVISION.fullmatch(revision) or ".." in revision or revision.endswith((".lock", "/"))):
        raise NpuifyError(phrase("{revision} is no name of a commit, branch or tag", revision=revision))
    return address, revision


def _last(address: str) -> str:
    return re.split(r"[/:]", address.rstrip("/"))[-1].removesuffix(".git") or address


# --- names ---


def _distinct(sources: Iterable[Source]) -> list[Source]:
    """Each project once; of one address at several revisions each is a project of its own."""
    found: dict[str, Source] = {}
    for one in sources:
        known = found.get(one.key)
        if known is None:
            found[one.key] = one
        elif known.revision != one.revision:
            key = f"{one.place}@{one.revision}"
            found.setdefault(key, Source(key, one.name, one.place, one.revision, one.is_git))
    return list(found.values())


def _named(sources: list[Source]) -> list[Source]:
    """With names that differ: as many parts of the path as that takes."""
    counts = Counter(one.name for one in sources)
    named, taken = [], {one.name for one in sources if counts[one.name] == 1}
    for one in sources:
        name = one.name
        if counts[name] > 1:
            parts = re.split(r"[/\\:]+", one.place.rstrip("/").removesuffix(".git"))
            wanted = [*("/".join(parts[-take:]) for take in range(2, len(parts) + 1)), one.key]
            if one.revision:
                wanted = [f"{name}@{one.revision}", *(f"{name}@{one.revision}" for name in wanted)]
            name = next((name for name in wanted if name not in taken), one.key)
            taken.add(name)
        named.append(Source(one.key, name, one.place, one.revision, one.is_git))
    return named
