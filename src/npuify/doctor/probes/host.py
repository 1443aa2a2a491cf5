"""The host and the container: architecture, user, device files, disk, shared memory, mounts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from npuify.doctor.machine import Node, Sight

CONTROL_DEVICES: Final = ("davinci_manager", "devmm_svm", "hisi_hdc")
"""Device files that every process needs beside those of its cards. Source: vllm-ascend installation.md."""


class Disk(msgspec.Struct, frozen=True, kw_only=True):
    """One file system. Sizes are MiB."""

    path: str
    total: int
    free: int


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """The machine without its cards."""

    system: str
    architecture: str
    kernel: str
    container: str
    """``docker``, ``podman``, ``kubernetes`` or ``container``; empty: none."""
    user: str
    groups: tuple[str, ...]
    devices: dict[str, Node]
    """Device files of the NPU below ``/dev``, by name."""
    disks: tuple[Disk, ...]
    name: str
    addresses_of_name: tuple[str, ...]
    """What ``/etc/hosts`` says of the host's name."""
    interfaces: tuple[str, ...]
    pci_cards: int
    """Ascend chips on the PCI bus; -1 where the bus cannot be looked at."""

    def davinci(self) -> tuple[int, ...]:
        """Numbers of the cards that have a device file."""
        return tuple(sorted(int(name[7:]) for name in self.devices if re.fullmatch(r"davinci\d+", name)))

    @property
    def is_root(self) -> bool:
        """Whether the user may do everything."""
        return self.user == "root"


_ASCEND_VENDOR: Final = "0x19e5"
_ASCEND_CHIPS: Final = frozenset({"0xd100", "0xd500", "0xd801", "0xd802", "0xd803"})
"""310, 310P, 910, 910B (A2), 910_93 (A3), as lspci shows them in public installation guides."""


def read(machine: Sight) -> Host:
    """Ask for everything; nothing of it needs an administrator."""
    uname = machine.run("uname -srm", ["uname", "-srm"]).stdout.split()
    release = machine.read("/etc/os-release") or ""
    pretty = re.search(r'^PRETTY_NAME="?([^"\n]*)', release, re.MULTILINE)
    who = machine.run("id", ["id"]).stdout
    user = re.search(r"uid=(\d+)\(([^)]*)\)", who)
    groups = re.search(r"groups=(\S+)", who)
    names = machine.entries("/dev") or ()
    devices = {}
    for name in names:
        if re.fullmatch(r"davinci\d+", name) or name in CONTROL_DEVICES:
            node = machine.node(f"/dev/{name}")
            if node is not None:
                devices[name] = node
    hostname = (machine.read("/etc/hostname") or machine.environment.get("HOSTNAME", "")).strip()
    return Host(
        system=pretty[1].strip() if pretty else "",
        architecture=uname[2] if len(uname) == 3 else "",
        kernel=uname[1] if len(uname) == 3 else "",
        container=_container(machine),
        user="root" if user and user[1] == "0" else user[2] if user else "",
        groups=tuple(re.findall(r"\(([^)]*)\)", groups[1])) if groups else (),
        devices=devices,
        disks=_disks(machine),
        name=hostname,
        addresses_of_name=_addresses(machine.read("/etc/hosts") or "", hostname),
        interfaces=machine.entries("/sys/class/net") or (),
        pci_cards=_pci(machine),
    )


def _container(machine: Sight) -> str:
    if machine.environment.get("KUBERNETES_SERVICE_HOST") or machine.node("/var/run/secrets/kubernetes.io") is not None:
        return "kubernetes"
    if machine.node("/.dockerenv") is not None:
        return "docker"
    if machine.node("/run/.containerenv") is not None:
        return "podman"
    groups = machine.read("/proc/1/cgroup") or ""
    found = re.search(r"kubepods|docker|containerd|libpod", groups)
    if not found:
        return ""
    return {"kubepods": "kubernetes", "docker": "docker", "libpod": "podman"}.get(found[0], "container")


def _disks(machine: Sight) -> tuple[Disk, ...]:
    """Of ``df -Pk``, a line a file system; a path may hold blanks, the five figures before it do not."""
    home = machine.environment.get("HOME", "/root") or "/root"
    disks = []
    for label, path in (("/dev/shm", "/dev/shm"), ("/tmp", "/tmp"), ("home", home)):
        lines = machine.run(f"df -Pk {label}", ["df", "-Pk", path]).stdout.splitlines()
        found = re.match(r"\S.*?\s(\d+)\s+(\d+)\s+(-?\d+)\s+\d+%\s+(/.*)$", lines[-1]) if lines else None
        if found:
            disks.append(Disk(path=label, total=int(found[1]) // 1024, free=max(0, int(found[3])) // 1024))
    return tuple(disks)


def _addresses(hosts: str, name: str) -> tuple[str, ...]:
    found = []
    for line in hosts.splitlines():
        words = line.partition("#")[0].split()
        if name and name in words[1:]:
            found.append(words[0])
    return tuple(found)


def _pci(machine: Sight) -> int:
    devices = machine.entries("/sys/bus/pci/devices")
    if devices is None:
        return -1
    count = 0
    for device in devices:
        folder = f"/sys/bus/pci/devices/{device}"
        if (machine.read(f"{folder}/vendor") or "").strip() == _ASCEND_VENDOR:
            count += (machine.read(f"{folder}/device") or "").strip() in _ASCEND_CHIPS
    return count
