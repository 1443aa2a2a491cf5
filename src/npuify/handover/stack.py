"""The packages that a migrated project runs on: torch and torch_npu, or TensorFlow and the adapter of its line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from npuify.knowledge.release.versions import release_info
from npuify.knowledge.tensorflow.tables import adapters
from npuify.language import phrase
from npuify.report.verdicts.scope import is_for_tensorflow

if TYPE_CHECKING:
    from npuify.knowledge.tensorflow.schema import Adapter
    from npuify.model import Evidence, ScanResult

PYTORCH: Final = "pytorch"
TENSORFLOW: Final = "tensorflow"


class Stack(msgspec.Struct, frozen=True, kw_only=True):
    """What has to be installed together."""

    framework: str
    """``PYTORCH`` or ``TENSORFLOW``."""
    name: str
    """In a few words."""
    cann: str
    """Empty where it is not known, or any of several will do."""
    rows: tuple[tuple[str, str], ...]
    """Package and version, as a table shows them; CANN and Python among them."""
    reason: str
    """Why this one."""
    evidence: Evidence
    source: str
    adapter: Adapter | None = None
    """TensorFlow's; None where the project leaves its line open, and for PyTorch."""

    @property
    def is_for_tensorflow(self) -> bool:
        """Whether it is TensorFlow's."""
        return self.framework == TENSORFLOW


def stack_of(scan: ScanResult) -> Stack:
    """What the scanned project runs on, on NPUs."""
    if is_for_tensorflow(scan):
        return _of_tensorflow(scan)
    release = scan.release
    info = release_info(release.torch_npu)
    return Stack(
        framework=PYTORCH,
        name=f"torch_npu {release.torch_npu}",
        cann=release.cann,
        rows=(
            ("torch", release.torch),
            ("torch_npu", release.torch_npu),
            ("CANN", release.cann),
            ("Python", ", ".join(info.pythons)),
        ),
        reason=release.reason,
        evidence=info.evidence,
        source=info.source,
    )


def _of_tensorflow(scan: ScanResult) -> Stack:
    known: dict[str, Adapter] = {one.line: one for one in adapters()}
    adapter = known.get(scan.tensorflow_line)
    if adapter is None:
        either = " / ".join(f"{one.package} {one.version}" for one in known.values())
        first = next(iter(known.values()))
        rows = tuple((one.package, one.tensorflow) for one in known.values())
        return Stack(
            framework=TENSORFLOW,
            name=either,
            cann="",
            rows=rows,
            reason=scan.tensorflow,
            evidence=first.evidence,
            source=first.source,
        )
    name, _, version = adapter.tensorflow.partition("==")
    rows = (
        (name, version),
        *(_apart(one) for one in adapter.also),
        (adapter.package, phrase("that of the machine's CANN")),
        *((phrase("CANN, for adapter {version}", version=one), cann) for one, cann in _canns(adapter)),
        ("Python", adapter.python.replace("|", " | ")),
    )
    return Stack(
        framework=TENSORFLOW,
        name=f"{adapter.package} {adapter.version}",
        cann="",
        rows=rows,
        reason=scan.tensorflow,
        evidence=adapter.evidence,
        source=adapter.source,
        adapter=adapter,
    )


def _canns(adapter: Adapter) -> list[tuple[str, str]]:
    """Each release of the adapter with the CANN that it goes with."""
    told = (one.partition(": ") for one in adapter.releases)
    return [(release, cann.removeprefix("CANN ")) for release, _, cann in told]


def _apart(requirement: str) -> tuple[str, str]:
    """``protobuf<3.21`` as a name and what is asked of it."""
    at = next((place for place, sign in enumerate(requirement) if sign in "<>=!~"), len(requirement))
    return requirement[:at], requirement[at:]
