"""The packages that a project needs on an NPU, besides torch and torch_npu: to install, to build, and to leave out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from npuify.handover.imports import imported
from npuify.knowledge.third_party.dependencies import Dependency, companions, dependency
from npuify.project.files import find_files
from npuify.source.requirements import UnreadableRequirements, format_of, read
from npuify.source.requirements.entry import normal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from npuify.model import Release
    from npuify.source.requirements import Entry

_THE_SET: Final = {"torch", "torch-npu"}
_THE_SET_OF_TENSORFLOW: Final = {
    *("tensorflow", "tensorflow-cpu", "tensorflow-gpu", "intel-tensorflow", "npu-bridge", "npu-device"),
    # What TensorFlow asks for in its own version.
    *("tensorboard", "tensorflow-estimator", "keras"),
}
_COMPANIONS: Final = {"torchvision", "torchaudio"}
_CUDA_PARTS: Final = ("nvidia-", "cuda-", "triton", "pytorch-cuda", "cudatoolkit", "cupy-cuda")
_NOT_PIP: Final = {"python", "pip", "setuptools", "wheel", "pytorch", "cpuonly"}
_DEVELOPERS: Final = ("test", "dev", "doc", "lint", "format", "build", "ci")

_PIP_INSTALL: Final = re.compile(r"^[ \t]*[$>!%]?[ \t]*`?(?:python3? -m )?pip3? install (?P<what>.+)$", re.MULTILINE)
_TAKES_A_VALUE: Final = frozenset(
    "-r --requirement -c --constraint -e --editable -f --find-links -i --index-url --extra-index-url -t".split()
)
_REQUIREMENT: Final = re.compile(r"(?P<name>[A-Za-z][\w.-]*)(?:\[[\w,-]+\])?(?:[=<>!~]=?[\w.*,<>=!~]+)?")


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


def packages(project: Path, release: Release, *, for_tensorflow: bool = False) -> Packages:
    """The requirements of the project at ``project``, which is read as it is: migrated or not.

    Args:
        for_tensorflow: TensorFlow and its adapter are installed by themselves, and not torch and torch_npu.
    """
    the_set = _THE_SET_OF_TENSORFLOW if for_tensorflow else _THE_SET
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
            elif wanted.name not in the_set:
                fact = dependency(wanted.name, release.torch_npu)
                wanted = msgspec.structs.replace(wanted, fact=fact)
                _place(wanted, install, build, drop)
    says_nothing = not (install or build or drop)
    if says_nothing:
        for wanted in _in_pages(project):
            if wanted.name in _COMPANIONS:
                asked.add(wanted.name)
            elif wanted.name not in the_set:
                wanted = msgspec.structs.replace(wanted, fact=dependency(wanted.name, release.torch_npu))
                _place(wanted, install, build, drop)
    told = {name.replace("-", "_") for name in (*install, *build, *drop, *asked)}
    belongs = companions(release.torch)
    versions = {"torchvision": belongs.torchvision, "torchaudio": belongs.torchaudio} if belongs else {}
    names = {file.relative for file in files}
    unnamed = imported(project, for_tensorflow=for_tensorflow) if says_nothing else ()
    return Packages(
        install=tuple(install.values()),
        build=tuple(build.values()),
        drop=tuple(drop.values()),
        with_torch=tuple(f"{name}=={versions[name]}" if versions.get(name) else name for name in sorted(asked)),
        itself=bool(names & {"setup.py", "setup.cfg"}) or _has_build_system(project / "pyproject.toml"),
        unnamed=tuple(one for one in unnamed if one.lower() not in told),
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


def _in_pages(project: Path) -> Iterator[Wanted]:
    """What the project's page on its first level has installed by ``pip install``."""
    for path in sorted(project.glob("README*")):
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        for match in _PIP_INSTALL.finditer(text):
            words = match["what"].split("`", 1)[0].split("#", 1)[0].split()
            for before, word in zip(("", *words), words, strict=False):
                found = _REQUIREMENT.fullmatch(word.strip("\"'"))
                if found is not None and before not in _TAKES_A_VALUE and not word.endswith((".txt", ".whl")):
                    yield Wanted(text=found[0], name=normal(found["name"]), file=path.name)


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
