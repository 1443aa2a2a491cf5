"""vLLM on an NPU: sets of versions that belong together, and engine arguments that an NPU changes."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from npuify.knowledge.hand_written import DATA, read_rows
from npuify.language import phrase, spoken
from npuify.model import Evidence, NpuifyError, Safety, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from packaging.version import Version


_PUBLIC_TRITON = "3.2.0"
_ASCEND_INDEX = "https://mirrors.huaweicloud.com/ascend/repos/pypi"
_PIN = re.compile(r"==\s*([\d.]+(?:(?:rc|a|b|\.post)\d+)?)")
_DROPPED_BY = "0.23.0"
"""The release whose parser was asked which arguments it has."""


class VllmSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``frameworks/vllm_sets.toml``: a release of vllm-ascend with what belongs to it."""

    plugin: str
    vllm: tuple[str, ...]
    """The releases of vLLM that it extends; the first is meant where one is to be written."""
    torch: str
    torch_npu: str
    cann: str
    python: str
    """A specifier: ``>=3.10,<3.13``."""
    chips: tuple[str, ...]
    """A star marks experimental support."""
    status: Literal["final", "post", "candidate", "branch"]
    installable: bool
    """Whether the package index has wheels of it."""
    evidence: Evidence
    source: str
    vllm_torch: str = ""
    """The torch that vLLM's own wheel wants; empty: not looked up."""
    triton_ascend: str = ""
    """Empty: it needs none."""
    torch_npu_also: str = ""
    """What the plug-in's documentation and image have in the place of what its wheel asks for."""
    transformers: str = ""
    opencv: str = ""
    """The newest opencv-python-headless that the plug-in takes; empty: it says nothing of it."""
    """What the wheels of the plug-in and of vLLM both take; empty: not looked up."""

    @property
    def indexes(self) -> tuple[str, ...]:
        """Where the plug-in's packages come from beside the public index.

        On x86, torch-npu asks for torch's builds for the CPU; the public index has one release of triton-ascend.
        """
        more = self.triton_ascend not in ("", _PUBLIC_TRITON)
        return ("https://download.pytorch.org/whl/cpu", *((_ASCEND_INDEX,) if more else ()))

    @property
    def to_install(self) -> str:
        """What pip is given to install the plug-in, after vLLM."""
        return " ".join((f"vllm-ascend=={self.plugin}", *(f"--extra-index-url {one}" for one in self.indexes)))


class EngineArgument(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``frameworks/vllm_arguments.toml``: an argument of vLLM's engine that an NPU changes."""

    names: tuple[str, ...]
    """In Python; the option of the server is ``--so-written``."""
    action: Literal["remove", "set", "tell"]
    safety: Safety
    severity: Severity
    message: str
    evidence: Evidence
    source: str
    values: tuple[str, ...] = ()
    """Patterns of the values that it holds for; empty: all."""
    flag: bool = False
    """Whether the option takes no value."""
    becomes: str = ""
    dropped: bool = False
    """vLLM itself has it no more; that has nothing to do with NPUs."""
    gone: str = ""
    """The first release without it, of those that were read; empty: ``_DROPPED_BY``."""
    advice: str = ""
    option_only: bool = False
    """Whether Python's classes still have it."""
    class_only: bool = False
    """Whether the option is there for longer than the argument of Python's classes."""

    def means(self, value: str | None) -> bool:
        """Whether a value is one that the row is about; None: nobody knows the value. Blanks do not count."""
        if not self.values:
            return True
        shown = "".join(value.split()) if value is not None else None
        return shown is not None and any(fnmatchcase(shown, one) for one in self.values)


class VllmNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The row of ``frameworks/vllm_names.toml``: what the engine and the server of a release take."""

    version: str
    names: tuple[str, ...]
    source: str


class VllmAim(NamedTuple):
    """The vLLM that a run aims at.

    Attributes:
        target: what the user asks for; empty leaves it to the project.
        required: what the project requires, as a specifier; empty where it says nothing.
    """

    target: str = ""
    required: str = ""

    def choice(self, specifier: str = "") -> VllmChoice:
        """The set for it; ``specifier`` is what the very place asks for, and counts before the rest of the project.

        Where the place has a range and another file a version within it, that version is meant: two files that are
        installed one after the other must not want two releases of vLLM.
        """
        return choose_set(self.target, self._narrowed(specifier))

    def argument(self, name: str, value: str | None, *, of_class: bool = False) -> EngineArgument | None:
        """What is known of an argument with a value; None where it stays, or where it is not known.

        What vLLM itself has dropped is told only where the vLLM aimed at is one without it.

        Args:
            name: in Python.
            value: as text; None where nobody knows it.
            of_class: one of Python's classes is given it, not the server.
        """
        rows = (row for row in engine_arguments().get(name, ()) if of_class or not row.class_only)
        return next((row for row in rows if row.means(value) and self._tells(row)), None)

    def arguments(self, name: str, value: str | None, *, of_class: bool = False) -> tuple[EngineArgument, ...]:
        """As :meth:`argument`, all that is known: a table of settings may hold several that change.

        Where a row is about any value, or a value is no table, it is the first alone.
        """
        rows = tuple(
            row
            for row in engine_arguments().get(name, ())
            if (of_class or not row.class_only) and row.means(value) and self._tells(row)
        )
        several = value is not None and ("{" in value or "=" in value or "(" in value)
        return rows if several and all(row.values and row.action == "tell" for row in rows) else rows[:1]

    def _narrowed(self, specifier: str) -> str:
        from packaging.specifiers import InvalidSpecifier, SpecifierSet

        pin = _PIN.fullmatch(self.required)
        if not specifier or pin is None or _PIN.fullmatch(specifier):
            return specifier or self.required
        try:
            return self.required if SpecifierSet(specifier).contains(pin[1], prereleases=True) else specifier
        except InvalidSpecifier:
            return specifier

    def _tells(self, row: EngineArgument) -> bool:
        from packaging.version import Version

        return not row.dropped or Version(self.choice().row.vllm[0]) >= Version(row.gone or _DROPPED_BY)


@cache
def engine_arguments() -> Mapping[str, tuple[EngineArgument, ...]]:
    """The rows by name."""
    found: dict[str, tuple[EngineArgument, ...]] = {}
    for row in read_rows(DATA / "frameworks" / "vllm_arguments.toml", "argument", EngineArgument):
        for name in row.names:
            found[name] = (*found.get(name, ()), row)
    return found


@cache
def vllm_names() -> frozenset[str]:
    """Every argument of vLLM's engine and server, as Python writes it, those that it dropped included."""
    rows = read_rows(DATA / "frameworks" / "vllm_names.toml", "release", VllmNames)
    return frozenset((*engine_arguments(), "model", "model_tag", *(name for row in rows for name in row.names)))


@cache
def vllm_sets() -> tuple[VllmSet, ...]:
    """Every row, the newest first."""
    return tuple(read_rows(DATA / "frameworks" / "vllm_sets.toml", "set", VllmSet))


class VllmChoice(NamedTuple):
    """The set that a project is moved to, and why.

    ``fits`` says whether the set is one for the vLLM that was asked for; where it is false, ``row`` is the nearest.
    """

    row: VllmSet
    reason: str
    fits: bool = True


def choose_set(target: str, specifier: str | None) -> VllmChoice:
    """The set for a vLLM.

    Args:
        target: the vLLM that the user asks for, ``0.18.0``; empty leaves it to the project.
        specifier: what the project requires of vLLM, ``==0.11.0``; None or empty where it says nothing.

    Raises:
        NpuifyError: ``target`` has no set, or is no version.
    """
    return _chosen(target, specifier, spoken())


@cache
def _chosen(target: str, specifier: str | None, language: str) -> VllmChoice:
    """As :func:`choose_set`, which says why in a language: a process may speak several."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    if target:
        row = _row_of(target)
        if row is None:
            nearest = _nearest(target).vllm[0]
            raise NpuifyError(
                phrase("no release of vllm-ascend is known for vLLM {target}", target=target),
                advice=phrase("the nearest with one is {nearest}", nearest=nearest),
            )
        return VllmChoice(row, phrase("--target-vllm {target}", target=target))
    stable = next(row for row in vllm_sets() if row.installable and row.status == "final")
    if not specifier:
        return VllmChoice(stable, "the newest with a final plug-in, since the project pins no vLLM")
    try:
        wanted = SpecifierSet(specifier)
    except InvalidSpecifier:
        return VllmChoice(
            stable, phrase("the newest with a final plug-in; {specifier} cannot be read", specifier=specifier)
        )
    fitting = [row for row in vllm_sets() if any(wanted.contains(one, prereleases=True) for one in row.vllm)]
    if fitting:
        order = sorted(fitting, key=lambda row: (not row.installable, row.status not in ("final", "post")))
        return VllmChoice(order[0], phrase("the project requires vllm{specifier}", specifier=specifier))
    bounds = [part.version.removesuffix(".*") for part in wanted]
    nearest_row = _nearest(bounds[0]) if bounds else stable
    return VllmChoice(
        nearest_row, phrase("no release of vllm-ascend is known for vllm{specifier}", specifier=specifier), fits=False
    )


def _row_of(version: str) -> VllmSet | None:
    found = [row for row in vllm_sets() if version in row.vllm]
    found.sort(key=lambda row: (not row.installable, row.status not in ("final", "post")))
    return found[0] if found else None


def _nearest(version: str) -> VllmSet:
    """The set whose vLLM is nearest; of two, one that can be installed from the index."""
    from packaging.version import InvalidVersion, Version

    try:
        wanted = Version(version)
    except InvalidVersion:
        raise NpuifyError(phrase("{version!r} is no version", version=version), advice="write it as 0.18.0") from None
    return min(
        (row for row in vllm_sets() if row.status != "branch"),
        key=lambda row: (_distance(Version(row.vllm[0]), wanted), not row.installable, row.status != "final"),
    )


def _distance(one: Version, other: Version) -> int:
    """How far two releases lie apart: what is newer than all is nearest to the newest."""
    return abs(_number(one) - _number(other))


def _number(version: Version) -> int:
    return (version.major * 1000 + version.minor) * 1000 + version.micro
