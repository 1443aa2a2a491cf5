"""The host: room on its disks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence
from npuify.report.doctor import Mend, Result, Status

from .base import check, result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.doctor.facts import Facts

_LEAST_MIB = 1024
_LITTLE_MIB = 5 * 1024


@check(
    "host.disk",
    "Disks have free space",
    needs=lambda facts: any(disk.path != "/dev/shm" for disk in facts.host.disks),
)
def disk_space(facts: Facts) -> Iterator[Result]:
    """The folders for temporary files and for logs are not full."""
    for disk in facts.host.disks:
        if disk.path == "/dev/shm" or disk.free >= _LITTLE_MIB:
            continue
        yield result(
            "host.disk",
            Status.ERROR if disk.free < _LEAST_MIB else Status.WARNING,
            phrase(
                "only {free} MiB are free where {value} lies",
                free=disk.free,
                value="the home folder" if disk.path == "home" else disk.path,
            ),
            advice=phrase("CANN compiles operators in the temporary folder and logs to ~/ascend/log; delete old logs"),
            mend=Mend(('du -sh ~/ascend/log "${TMPDIR:-/tmp}" 2>/dev/null',)),
            evidence=Evidence.ASSUMED,
            source="one and five gigabytes are our thresholds",
        )
