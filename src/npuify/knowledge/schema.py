"""The types of the knowledge tables: what a file holds, and what a question gets as its answer."""

from __future__ import annotations

from typing import Literal

import msgspec

from npuify.model import Evidence, Safety, Severity

FORMAT = 1
"""Version of the layout of ``data/releases/*.json``. A file of another layout is refused."""

NameKind = Literal["module", "class", "function", "method", "property", "value", "tensor type"]
Status = Literal["same", "renamed", "changed", "missing"]
Effect = Literal["renamed", "no-effect", "returns-none", "lacks-attributes", "raises", "different", "missing"]
PackageStatus = Literal["native", "plugin", "fork", "replacement", "partial", "cpu-only", "none"]
Action = Literal["rename", "keep", "drop", "replace", "manual"]


class Package(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The wheel that a table was read from."""

    version: str
    wheel: str
    sha256: str


class ReleaseFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One generated file, exactly as it is stored.

    ``cuda`` and ``npu`` map a module to its names, and a name (``Event`` or ``Event.record``) to a spec: a letter for
    its kind and, for what can be called, its parameters in brackets. ``=module.name`` is an alias of another entry.
    """

    format: int
    generator: str
    torch_npu: Package
    torch: Package
    cuda: dict[str, dict[str, str]]
    npu: dict[str, dict[str, str]]
    not_imported: list[str]
    """Modules of ``npu`` that ``import torch_npu`` leaves unloaded: they can be imported, but are no attribute."""
    patched: list[str]
    """Names under ``torch`` that importing torch_npu adds or replaces."""
    transfer_patches: list[str]
    """Names that ``torch_npu.contrib.transfer_to_npu`` replaces or wraps; what it does with a module is in
    ``transfer_modules``."""
    operators: dict[str, str]
    """ATen operator → its overloads, separated by blanks; ``-`` stands for the one without a name."""
    custom_operators: dict[str, list[str]]
    """Operator of the ``npu`` namespace → its schemas without the name, one per overload."""
    transfer_modules: dict[str, list[str]] = {}
    """Modules below ``torch`` that ``transfer_to_npu`` writes over → the names that it sets in each: those in
    ``__all__`` of the module whose names it takes."""


class Parameter(msgspec.Struct, frozen=True):
    """One parameter. ``default`` is source text; None: the parameter must be given."""

    name: str
    kind: Literal["positional", "both", "keyword", "args", "kwargs"]
    default: str | None = None


class Signature(msgspec.Struct, frozen=True):
    """The parameters of a function, of a method (without ``self``) or of a class's constructor.

    ``parameters`` is None where the name cannot be called or is made in C++, and nothing can be read.
    """

    name: str
    kind: NameKind
    parameters: tuple[Parameter, ...] | None
    text: str

    def accepts(self, parameter: str) -> bool:
        """Whether a keyword argument of this name is taken; True where that cannot be known."""
        if self.parameters is None:
            return True
        return any(
            p.kind == "kwargs" or (p.name == parameter and p.kind in ("both", "keyword")) for p in self.parameters
        )


class Meaning(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A hand-written row of ``names.toml``: what no name and no signature tells."""

    cuda: str
    effect: Effect
    message: str
    evidence: Evidence
    source: str
    npu: str | None = None
    """Attribute spelling of the NPU name, where it is not the CUDA name with ``cuda`` replaced; empty: there is none.
    A row whose NPU name the release lacks does not hold there, and the next row for the CUDA name is looked at."""
    code: str = ""
    severity: Severity = Severity.INFO
    safety: Safety = Safety.SAFE
    advice: str = ""
    requires: str = ""
    """An NPU name that a release must have for the row to hold; for what came with a build and not with a version."""
    since: str = ""
    """First torch_npu release (``2.5`` stands for every 2.5.*) that the row holds for."""
    until: str = ""
    """Last torch_npu release that it holds for."""
    renamed_parameters: tuple[tuple[str, str], ...] = ()
    """CUDA's parameters and what the NPU's are called, where no signature can be read."""
    check: str = ""
    """What ``npuify selftest`` asks, where the effect does not tell: a Python expression that is true where the row
    holds. It may use torch, torch_npu and the functions of :mod:`npuify.selftest.inside.questions.says`."""


class Counterpart(msgspec.Struct, frozen=True):
    """What takes the place of a CUDA name on one torch_npu release."""

    cuda: str
    npu: str | None
    """Attribute spelling: ``torch.npu.Event``."""
    npu_import: str | None
    """What to import from: ``torch_npu.npu.Event``. ``from torch.npu.amp import …`` would load the module twice."""
    status: Status
    missing_parameters: tuple[str, ...]
    """Parameters of the CUDA name that the NPU name does not take at all."""
    meaning: Meaning | None
    evidence: Evidence
    source: str
    message: str
    renamed_parameters: tuple[tuple[str, str], ...] = ()
    """Parameters that stand at the same place under another name: by position they can stay, by keyword not."""
    moved_parameters: tuple[str, ...] = ()
    """Parameters that stand at another place: by keyword they can stay, by position not."""


class EnvironmentFact(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One environment variable of CUDA, NCCL or a framework, and what to do with it on Ascend."""

    cuda: str
    action: Action
    message: str
    evidence: Evidence
    source: str
    npu: str | None = None
    values: str = ""
    """How the value changes; empty: it stays as it is."""
    products: str = ""
    """Hardware generations or releases that it holds for; empty: all."""
    also: tuple[str, ...] = ()
    """Further variables of which the same is true; each becomes a row of its own."""


class PackageFact(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A row of ``packages.toml``: a package that projects import, and what becomes of it on Ascend."""

    package: tuple[str, ...]
    """Names under which it is installed."""
    imports: tuple[str, ...]
    """Modules; what lies below them belongs to them."""
    status: PackageStatus
    message: str
    advice: str
    evidence: Evidence
    source: str
    names: tuple[str, ...] = ()
    """Members that need a GPU where the package itself does not. A star at the end stands for any ending."""
    since: str = ""
    """First version with support for the NPU; empty: not known, or none."""
    severity: Severity = Severity.ERROR
    """Of an import that nothing guards."""


class ArgumentFact(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A row of ``arguments.toml``: an argument or method of a library that means CUDA."""

    package: str
    """The library; the word must stand in the file."""
    message: str
    advice: str
    severity: Severity
    evidence: Evidence
    source: str
    keyword: str = ""
    method: str = ""
    values: tuple[str, ...] = ()
    """Literals that it is about; empty: every one that is true."""
    becomes: str = ""
    """What takes the value's place."""


class ReleaseInfo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row of ``versions.toml``."""

    torch_npu: str
    torch: str
    cann: str
    """Empty: not known."""
    pythons: tuple[str, ...]
    evidence: Evidence
    source: str
    ended: str = ""
    """The day on which the vendor's support ended, as ``2025-12-30``; empty where it goes on, or is not known."""
    has_table: bool = False
