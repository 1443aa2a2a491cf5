"""What is known, in numbers: for ``npuify knowledge list`` and ``show``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from npuify.knowledge.release.table import ReleaseTable, load
from npuify.knowledge.release.versions import release_info, releases, shipped_tables
from npuify.model import Evidence  # noqa: TC001 - the type of a field

if TYPE_CHECKING:
    from npuify.knowledge.schema import ReleaseInfo


class ReleaseSummary(msgspec.Struct, frozen=True):
    """One release in a few lines."""

    torch_npu: str
    torch: str
    cann: str
    pythons: tuple[str, ...]
    evidence: Evidence
    """How versions of CANN and Python are known."""
    source: str
    torch_npu_wheel: str
    torch_npu_sha256: str
    torch_wheel: str
    torch_sha256: str
    generator: str
    live_wheel: str
    """The wheel that was imported and asked; empty: none was, and all is known from files."""
    live_sha256: str
    npu_names: int
    cuda_names: int
    cuda_names_by_status: dict[str, int]
    """Public functions, classes and values of ``torch.cuda``, by what becomes of them."""
    operators: int
    """ATen operators with at least one overload that has an NPU kernel."""
    operators_on_cpu: int | None
    """ATen operators of which at least one overload runs on the CPU, and none on the NPU; None: not asked."""
    custom_operators: int
    transfer_patches: int


def describe_release(torch_npu: str) -> ReleaseSummary:
    """A summary of the shipped table of exactly this version.

    Raises:
        NpuifyError: there is none.
    """
    table = load(torch_npu)
    info = release_info(torch_npu)
    content = table.content
    return ReleaseSummary(
        torch_npu=table.torch_npu,
        torch=table.torch,
        cann=info.cann,
        pythons=info.pythons,
        evidence=info.evidence,
        source=info.source,
        torch_npu_wheel=content.torch_npu.wheel,
        torch_npu_sha256=content.torch_npu.sha256,
        torch_wheel=content.torch.wheel,
        torch_sha256=content.torch.sha256,
        generator=content.generator,
        live_wheel=table.live.torch_npu.wheel if table.live is not None else "",
        live_sha256=table.live.torch_npu.sha256 if table.live is not None else "",
        npu_names=sum(len(names) for names in content.npu.values()),
        cuda_names=sum(len(names) for names in content.cuda.values()),
        cuda_names_by_status=_by_status(table),
        operators=len(table.operators),
        operators_on_cpu=_on_cpu(table) if table.live is not None else None,
        custom_operators=len(table.custom_operators),
        transfer_patches=len(table.transfer_patches),
    )


def _on_cpu(table: ReleaseTable) -> int:
    ways = [set(overloads.values()) for overloads in table.operator_support.values()]
    return sum("fallback" in way and "kernel" not in way for way in ways)


def _by_status(table: ReleaseTable) -> dict[str, int]:
    counted = {"same": 0, "renamed": 0, "changed": 0, "missing": 0}
    for name in table.content.cuda["torch.cuda"]:
        if "." in name or name.startswith("_"):
            continue
        counterpart = table.counterpart(f"torch.cuda.{name}")
        if counterpart is not None:
            counted[counterpart.status] += 1
    return counted


def list_tables() -> tuple[ReleaseInfo, ...]:
    """The releases whose names are known, newest first."""
    shipped = set(shipped_tables())
    return tuple(info for info in releases() if info.torch_npu in shipped)
