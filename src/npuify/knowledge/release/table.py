"""One torch_npu release: which names it has, and what stands in for a CUDA name on it."""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING

import msgspec

from npuify.knowledge.hand_written import meanings
from npuify.knowledge.hardware.apply import Hardware
from npuify.knowledge.release.counterparts import claim_of, exists, find_counterpart
from npuify.knowledge.release.imported import LiveFile, load_live
from npuify.knowledge.release.names import ReleaseNames
from npuify.knowledge.release.versions import RELEASES, unknown_release, within
from npuify.knowledge.schema import FORMAT, Counterpart, Meaning, ReleaseFile
from npuify.language import phrase
from npuify.model import NpuifyError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def read_release_file(path: Path) -> ReleaseFile:
    """Decode and check a generated file.

    Raises:
        NpuifyError: it cannot be read, does not fit the schema, or was written for another layout.
    """
    try:
        content = msgspec.json.decode(path.read_bytes(), type=ReleaseFile)
    except OSError as error:
        raise NpuifyError(
            phrase("cannot read the release table: {strerror}", strerror=error.strerror), file=str(path)
        ) from error
    except msgspec.DecodeError as error:
        raise NpuifyError(phrase("not a release table: {error}", error=error), file=str(path)) from error
    if content.format != FORMAT:
        raise NpuifyError(
            phrase(
                "layout {format} of a release table; this npuify reads {FORMAT}", format=content.format, FORMAT=FORMAT
            ),
            file=str(path),
        )
    return content


@cache
def load(torch_npu: str) -> ReleaseTable:
    """The shipped table of exactly this torch_npu version, with what was seen of it on hardware.

    Raises:
        NpuifyError: there is none.
    """
    return _loaded(torch_npu, Hardware(torch_npu))


@cache
def load_shipped(torch_npu: str) -> ReleaseTable:
    """The same as npuify claims it, whatever was seen on hardware.

    Raises:
        NpuifyError: there is none.
    """
    return _loaded(torch_npu, None)


def _loaded(torch_npu: str, hardware: Hardware | None) -> ReleaseTable:
    path = RELEASES / f"{torch_npu}.json"
    if not torch_npu or "/" in torch_npu or "\\" in torch_npu or not path.is_file():
        raise unknown_release(torch_npu)
    return ReleaseTable(read_release_file(path), load_live(torch_npu), hardware)


class ReleaseTable(ReleaseNames):
    """Answers for one release: its names, its operators, and what stands in for what."""

    def __init__(self, content: ReleaseFile, live: LiveFile | None = None, hardware: Hardware | None = None) -> None:
        super().__init__(content, live, hardware)
        self._counterparts: dict[str, Counterpart | None] = {}

    @property
    def content(self) -> ReleaseFile:
        """The table read from the files of the packages, as it is stored."""
        return self._stored

    @property
    def live(self) -> LiveFile | None:
        """What the imported package answered; None: it was not asked."""
        return self._live

    @cached_property
    def operator_support(self) -> Mapping[str, Mapping[str, str]]:
        """ATen operator → overload (``""``: the one without a name) → what serves it on an NPU tensor.

        ``kernel``, ``fallback``, ``composite``, ``default``, ``none``, as :class:`LiveFile` says. Empty where the
        imported package was not asked; :attr:`operators` then tells which have a kernel.
        """
        found: dict[str, dict[str, str]] = {}
        for how, operators in (self._live.operators if self._live is not None else {}).items():
            for name, overloads in operators.items():
                for overload in overloads.split():
                    found.setdefault(name, {})["" if overload == "-" else overload] = how
        return found

    @cached_property
    def operators(self) -> Mapping[str, tuple[str, ...]]:
        """ATen operator → the overloads that have an NPU kernel; ``""`` is the overload without a name."""
        return {n: tuple("" if o == "-" else o for o in text.split()) for n, text in self._content.operators.items()}

    @cached_property
    def transfer_patches(self) -> tuple[str, ...]:
        """What ``torch_npu.contrib.transfer_to_npu`` replaces or wraps."""
        return tuple(self._content.transfer_patches)

    def transfer_reaches(self, name: str) -> bool:
        """Whether a name below ``torch`` is the NPU's after ``import torch_npu.contrib.transfer_to_npu``.

        A module that it writes over is reached by itself, and so are the names that it sets there and their members.
        """
        patched = self._transferred
        parts = name.split(".")
        return name in patched or any(
            ".".join(parts[:length]) in self._set_by_transfer for length in range(3, len(parts))
        )

    @cached_property
    def _set_by_transfer(self) -> frozenset[str]:
        """What it sets in modules, and classes and functions that it replaces: their members come with them."""
        return frozenset(
            f"{module}.{name}" for module, names in self._content.transfer_modules.items() for name in names
        ) | (frozenset(self._content.transfer_patches) - frozenset(self._content.transfer_modules))

    @cached_property
    def _transferred(self) -> frozenset[str]:
        return frozenset(self._content.transfer_modules) | self._set_by_transfer

    def on_cpu(self, function: str) -> tuple[str, ...] | None:
        """The operators that ran on the CPU when ``function`` (``torch.lgamma``) was called with NPU tensors.

        Empty: none did. None: the call was not tried, or ended for want of a kernel before any did.
        """
        operators = self._live.calls.get(function) if self._live is not None else None
        seen = self.hardware.refuted(f"calls/{function}")
        if seen is not None and isinstance(seen.fact.seen, list):
            return tuple(map(str, seen.fact.seen))
        return None if operators is None else tuple(operators)

    def counterpart(self, name: str) -> Counterpart | None:
        """What stands in for ``name`` (``torch.cuda.Event``, ``torch.backends.cudnn.benchmark``) on this release.

        None: neither the torch of this release nor a hand-written row knows the name.
        """
        if name not in self._counterparts:
            self._counterparts[name] = find_counterpart(self, name, self.meaning(name), self.counterpart)
        return self._counterparts[name]

    def meaning(self, name: str) -> Meaning | None:
        """The hand-written row for ``name`` that holds for this release; spellings of one object count as one."""
        for spelling in self.spellings(name):
            for row in meanings().get(spelling, ()):
                if self.holds(row):
                    return row
        return None

    def holds(self, row: Meaning) -> bool:
        """Whether a hand-written row holds for this release: by version, and by the names that it needs."""
        if not within(self.torch_npu, row.since, row.until):
            return False
        if self.hardware.refuted(claim_of(row)) is not None:
            return False
        if row.requires and not self.importable(row.requires):
            return False
        return not row.npu or exists(self, row.npu)
