"""Containers: what has to come in from the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.doctor.probes.host import CONTROL_DEVICES
from npuify.language import phrase
from npuify.model import Evidence
from npuify.report.doctor import Mend, Result, Status

from .base import check, result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.doctor.facts import Facts

_SOURCE = "vllm-ascend installation.md"


@check(
    "container.runtime",
    "The container runtime provided cards",
    needs=lambda facts: bool(facts.host.container),
    live=True,
)
def container_runtime(facts: Facts) -> Iterator[Result]:
    """Where the Ascend Docker Runtime was asked for cards, they are there."""
    asked = facts.environment.get("ASCEND_VISIBLE_DEVICES", "")
    if facts.host.container and asked and asked != "void" and not facts.host.davinci():
        yield result(
            "container.runtime",
            Status.ERROR,
            phrase("ASCEND_VISIBLE_DEVICES={asked} requests cards, but the container has none", asked=asked),
            advice=phrase(
                "the Ascend Docker Runtime reads this variable; start with --runtime=ascend, or specify the devices"
            ),
            mend=Mend(("# docker run --runtime=ascend -e ASCEND_VISIBLE_DEVICES=" + asked + " …",), place="host"),
            source="the vendor's Ascend Docker Runtime guide",
        )


@check(
    "container.mounts",
    "The host's driver is mounted",
    after=("container.runtime",),
    needs=lambda facts: bool(facts.host.container),
    live=True,
)
def container_mounts(facts: Facts) -> Iterator[Result]:
    """Device files, the driver's libraries, dcmi and ``npu-smi`` are there."""
    if not facts.host.container:
        return
    missing: list[str] = []
    options: list[str] = []
    if not facts.host.davinci():
        missing.append("/dev/davinci*")
        options.append("--device /dev/davinci0")
    if not facts.smi.cards:
        for name in CONTROL_DEVICES:
            if name not in facts.host.devices:
                missing.append(f"/dev/{name}")
                options.append(f"--device /dev/{name}")
    if not facts.driver.libraries:
        path = f"{facts.driver.root}/driver"
        missing.append(f"{path}/lib64")
        options.append(f"-v {path}:{path}:ro")
    if not facts.smi_answered and not any(facts.mounts[path] for path in facts.mounts if path.endswith("npu-smi")):
        missing.append("npu-smi")
        options.append("-v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi:ro")
    if not facts.smi.cards and not facts.mounts["/usr/local/dcmi"]:
        missing.append("/usr/local/dcmi")
        options.append("-v /usr/local/dcmi:/usr/local/dcmi:ro")
    if missing:
        yield result(
            "container.mounts",
            Status.ERROR,
            phrase("the container lacks these from the host: ") + ", ".join(missing),
            advice=phrase("restart it with these options, one --device for each card"),
            mend=Mend(("# docker run " + " ".join(options) + " …",), place="host"),
            source=_SOURCE,
        )


@check(
    "host.shared-memory",
    "Shared memory is large enough",
    needs=lambda facts: any(disk.path == "/dev/shm" for disk in facts.host.disks),
)
def shared_memory(facts: Facts) -> Iterator[Result]:
    """``/dev/shm`` is larger than a container's default of 64 MB, and not full."""
    for disk in facts.host.disks:
        if disk.path != "/dev/shm":
            continue
        small = disk.total <= 64
        if small or disk.free < 64:
            what = (
                phrase("/dev/shm has only {total} MiB", total=disk.total)
                if small
                else phrase("/dev/shm is full: {free} MiB are free", free=disk.free)
            )
            yield result(
                "host.shared-memory",
                Status.ERROR,
                what,
                advice=phrase(
                    "DataLoader workers and CANN's operator compiler pass data through it; give the container more "
                    "with --shm-size"
                )
                if facts.host.container
                else phrase("make it larger, or delete its contents"),
                mend=Mend(("# docker run --shm-size=64g …",), place="host")
                if facts.host.container
                else Mend(("ls -la /dev/shm", "mount -o remount,size=64G /dev/shm"), root=True),
                evidence=Evidence.REPORTED,
                source="hiyouga/LlamaFactory#6309, #7315",
            )
        elif disk.total < 1024:
            yield result(
                "host.shared-memory",
                Status.WARNING,
                phrase("/dev/shm has only {total} MiB, which is little for DataLoader workers", total=disk.total),
                advice=phrase("give it several gigabytes"),
                evidence=Evidence.ASSUMED,
            )
