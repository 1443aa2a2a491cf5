"""The packages that a project needs on an NPU, besides torch and torch_npu: to install, to build, and to leave out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from npuify.handover.imports import imported
from npuify.knowledge.dependencies import Dependency, companions, dependency
from npuify.project.files import find_files
from npuify.source.requirements import UnreadableRequirements, format_of, read

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from npuify.model import Release
    from npuify.source.requirements import Entry

_THE_SET: Final = {"torch", "torch-npu"}
_COMPANIONS: Final = {"torchvision", "torchaudio"}
_CUDA_PARTS: Final = ("nvidia-", "cuda-", "triton", "pytorch-cuda", "cudatoolkit", "cupy-cuda")
_NOT_PIP: Final = {"python", "pip", "setuptools", "wheel", "pytorch", "cpuonly"}
_DEVELOPERS: Final = ("test", "dev", "doc", "lint", "format", "build", "ci")


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """One requirement of the project."""

    text: str
    """As pip takes it."""
    name: str
    file: str
    fact: Dependency | None = None
    """What is known of the package; None where it is nothing."""


class Packages(msgspec.Struct, frozen=True, kw_only=True):
    """All requirements by what becomes of them."""

    install: tuple[Wanted, ...]
    build: tuple[Wanted, ...]
    """Has to be built from source on the machine with the NPU."""
    drop: tuple[Wanted, ...]
    """Has no form for the NPU, or a person has to decide."""
    with_torch: tuple[str, ...]
    """torchvision and torchaudio with the versions that belong to torch."""
    itself: bool
    """Whether the project is a package that pip installs."""
    unnamed: tuple[str, ...]
    """Modules that it imports, where it says nowhere what it needs. A package may be called otherwise."""


def packages(project: Path, release: Release) -> Packages:
    """The requirements of the project at ``project``, which is read as it is: migrated or not."""
    files = find_files([project], errors=[])
    install: dict[str, Wanted] = {}
    build: dict[str, Wanted] = {}
    drop: dict[str, Wanted] = {}
    asked = set()
    for file in files:
        format_name = format_of(file.relative, file.kind)
        if format_name in (None, "lock") or "/" in file.relative or _for_developers(file.relative):
            continue
        for wanted in _in_file(file.path, file.relative, str(format_name)):
            if wanted.name in _COMPANIONS:
                asked.add(wanted.name)
            elif wanted.name not in _THE_SET:
                fact = dependency(wanted.name, release.torch_npu)
                wanted = msgspec.structs.replace(wanted, fact=fact)
                _place(wanted, install, build, drop)
    belongs = companions(release.torch)
    versions = {"torchvision": belongs.torchvision, "torchaudio": belongs.torchaudio} if belongs else {}
    names = {file.relative for file in files}
    says_nothing = not (install or build or drop)
    return Packages(
        install=tuple(install.values()),
        build=tuple(build.values()),
        drop=tuple(drop.values()),
        with_torch=tuple(f"{name}=={versions[name]}" if versions.get(name) else name for name in sorted(asked)),
        itself=bool(names & {"setup.py", "setup.cfg"}) or _has_build_system(project / "pyproject.toml"),
        unnamed=imported(project) if says_nothing else (),
    )


def _place(wanted: Wanted, install: dict[str, Wanted], build: dict[str, Wanted], drop: dict[str, Wanted]) -> None:
    fact = wanted.fact
    if (fact is not None and fact.action in ("drop", "manual")) or wanted.name.startswith(_CUDA_PARTS):
        drop.setdefault(wanted.name, wanted)
    elif fact is not None and fact.action == "source":
        build.setdefault(wanted.name, wanted)
    elif fact is not None and fact.action == "replace":
        install.setdefault(wanted.name, msgspec.structs.replace(wanted, text=fact.replacement))
    else:
        install.setdefault(wanted.name, wanted)


def _in_file(path: Path, relative: str, format_name: str) -> Iterator[Wanted]:
    try:
        document = read(format_name, path.read_bytes())
    except (OSError, UnreadableRequirements, SyntaxError, ValueError):
        # The scan reports it.
        return
    for entry in document.entries:
        if entry.is_main and entry.name not in _NOT_PIP and not _for_developers(entry.group):
            yield Wanted(text=_as_pip(entry, document.text, format_name), name=entry.name, file=relative)


def _as_pip(entry: Entry, text: str, format_name: str) -> str:
    if format_name == "pip" and not entry.has_hashes:
        # With its extras and markers, as it stands there.
        return " ".join(text[entry.start : entry.end].split())
    marker = f" ; {entry.marker}" if entry.marker else ""
    return f"{entry.name}{entry.specifier or ''}{marker}"


def _for_developers(name: str) -> bool:
    stem = name.rpartition("/")[2].lower()
    return any(word in stem.replace("_", "-").replace(".", "-").split("-") for word in (*_DEVELOPERS, "tests", "docs"))


def _has_build_system(path: Path) -> bool:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return "[build-system]" in text or "[project]" in text
