"""The files of a cluster, in one call."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from npuify.language import ENGLISH
from npuify.launch.cluster.hosts import HostsFile
from npuify.launch.cluster.page import page
from npuify.launch.cluster.plan import Machine, Plan, plan
from npuify.launch.cluster.rank_table import rank_table
from npuify.launch.cluster.scripts import addresses_script, check_script, kernel_script
from npuify.launch.write import write
from npuify.model import Evidence  # noqa: TC001 - the type of a field

if TYPE_CHECKING:
    from collections.abc import Mapping


class ClusterResult(msgspec.Struct, frozen=True, kw_only=True):
    """The plan of a cluster, and its files.

    Attributes:
        format: version of this layout, 1.
        kind: ``cluster``.
        rules: what the product's network asks for, with how it is known.
        files: the texts, by name; they lie in ``output`` where that is not empty.
    """

    format: int = 1
    kind: str = "cluster"
    language: str = ENGLISH
    """Of all text for people: ``en`` or ``zh``."""
    product: str
    world_size: int
    machines: tuple[Machine, ...]
    notes: tuple[str, ...]
    output: str
    files: dict[str, str]
    rules: str
    evidence: Evidence
    source: str


def cluster(path: Path) -> tuple[Plan, dict[str, str]]:
    """The plan for a file of machines, and the texts that belong to it, by name.

    Raises:
        NpuifyError: the file cannot be read, or the machines cannot work together; it names the row.
    """
    made = plan(HostsFile(path))
    files: dict[str, str] = {}
    for machine in made.machines:
        if made.product.subnets:
            files[f"addresses_{machine.name}.sh"] = addresses_script(made, machine)
        files[f"check_{machine.name}.sh"] = check_script(made, machine)
    files["kernel_settings.sh"] = kernel_script()
    if made.rank_table:
        files["rank_table.json"] = rank_table(made)
    files["CLUSTER.md"] = page(made, tuple(files))
    return made, files


def build(
    path: Path, output: Path | None, *, force: bool = False, more: Mapping[str, str] | None = None
) -> ClusterResult:
    """Plan a cluster, and write its files if asked.

    Args:
        output: the folder to write to; None writes nothing.
        more: further files to write with them, such as launch scripts; all are written, or none.

    Raises:
        NpuifyError: see :func:`cluster`; or files cannot be written.
    """
    made, files = cluster(path)
    files = {**(more or {}), **files}
    if output is not None:
        write(files, output, force=force)
    return ClusterResult(
        product=made.product.name,
        world_size=made.world_size,
        machines=made.machines,
        notes=made.notes,
        output=str(output) if output is not None else "",
        files=files,
        rules=made.product.message,
        evidence=made.product.evidence,
        source=made.product.source,
    )
