"""The driver of the cards: its device files, and a release of it that fits firmware and CANN."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.doctor.probes.host import CONTROL_DEVICES
from npuify.doctor.probes.versions import between, family, same
from npuify.knowledge.machine.drivers import driver_pairs
from npuify.language import commas, phrase
from npuify.model import Evidence
from npuify.report.doctor import Mend, Result, Status

from .base import check, result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.doctor.facts import Facts


@check(
    "devices.files",
    "Device files exist",
    after=("cards.seen", "container.mounts"),
    needs=lambda facts: bool(facts.smi.cards),
)
def device_files(facts: Facts) -> Iterator[Result]:
    """Each card and each of the three control devices has its file below ``/dev``."""
    if not facts.smi.cards:
        return
    missing = [name for name in CONTROL_DEVICES if name not in facts.host.devices]
    missing += [f"davinci{card.physical}" for card in facts.smi.cards if card.physical not in facts.host.davinci()]
    if missing:
        paths = [f"/dev/{name}" for name in missing]
        inside = bool(facts.host.container)
        yield result(
            "devices.files",
            Status.ERROR,
            "missing: " + ", ".join(paths),
            advice=phrase("start the container with a --device option for each")
            if inside
            else phrase("reload the driver"),
            mend=Mend(
                ("# docker run " + " ".join(f"--device {path}" for path in paths) + " …",)
                if inside
                else ("ls -l /dev | grep -E 'davinci|devmm|hisi'",),
                place="host" if inside else "machine",
            ),
            source="vllm-ascend installation.md",
        )


@check(
    "devices.permission",
    "Device files are accessible",
    after=("devices.files", "container.mounts"),
    needs=lambda facts: bool(facts.host.devices and facts.host.user),
)
def device_permission(facts: Facts) -> Iterator[Result]:
    """The user may read and write the device files."""
    host = facts.host
    if host.is_root or not host.user:
        return
    closed = []
    for name, node in host.devices.items():
        bits = node.mode & 0o006
        if node.group in host.groups:
            bits |= (node.mode & 0o060) >> 3
        if node.owner == host.user:
            bits |= (node.mode & 0o600) >> 6
        if bits != 0o006:
            closed.append((name, node))
    if closed:
        name, node = closed[0]
        group = node.group if node.mode & 0o060 == 0o060 and node.group != "root" else "HwHiAiUser"
        yield result(
            "devices.permission",
            Status.ERROR,
            phrase(
                "the user has no access to {number} device files: /dev/{name} is {value:04o} {owner}:{group}",
                number=len(closed),
                name=name,
                value=node.mode & 511,
                owner=node.owner,
                group=node.group,
            ),
            advice=phrase(
                "add the user to the group {group}, or install the driver with --install-for-all", group=group
            ),
            mend=Mend((f'usermod -a -G {group} "$SUDO_USER"',), root=True),
            evidence=Evidence.DOCUMENTED,
            source="ACL error 207006; the vendor's installation guide",
        )


@check(
    "driver.version",
    "The driver is installed",
    after=("cards.seen", "container.mounts"),
    needs=lambda facts: bool(facts.driver.version or facts.smi.driver),
)
def driver_version(facts: Facts) -> Iterator[Result]:
    """The driver's version file is there and says what ``npu-smi`` says."""
    driver, told = facts.driver, facts.smi.driver
    if not driver.version:
        if facts.smi.cards and not facts.host.container:
            yield result(
                "driver.version",
                Status.WARNING,
                phrase(
                    "{root}/driver/version.info is missing; the driver version is only known from npu-smi",
                    root=driver.root,
                ),
                evidence=Evidence.ASSUMED,
            )
        return
    if told and not same(told, driver.version):
        yield result(
            "driver.version",
            Status.ERROR,
            phrase("version.info says driver {version}, but {told} is running", version=driver.version, told=told),
            advice=phrase("restart the machine, so that it runs the installed driver"),
            mend=Mend(("reboot",), root=True, place="host" if facts.host.container else "machine"),
            evidence=Evidence.ASSUMED,
        )


@check(
    "driver.firmware",
    "Driver and firmware match",
    after=("driver.version",),
    needs=lambda facts: bool(facts.driver.firmware and facts.driver.firmware_range[0]),
)
def driver_firmware(facts: Facts) -> Iterator[Result]:
    """The firmware lies in the range that the driver's version file names."""
    driver = facts.driver
    lowest, highest = driver.firmware_range
    if driver.firmware and lowest and not between(driver.firmware, lowest, highest):
        yield result(
            "driver.firmware",
            Status.ERROR,
            phrase(
                "driver {version} needs firmware {lowest} to {highest}, but {firmware} is installed",
                version=driver.version,
                lowest=lowest,
                highest=highest,
                firmware=driver.firmware,
            ),
            advice=phrase(
                "install driver and firmware from the same release; when upgrading, the firmware first, then the "
                "driver, then restart the machine"
            ),
            mend=Mend(
                (
                    "# "
                    + phrase(
                        "get the firmware for driver {version} for this card from the vendor", version=driver.version
                    ),
                    "# ./Ascend-hdk-<card>-npu-firmware_<version>.run --full",
                    "reboot",
                ),
                root=True,
                place="host" if facts.host.container else "machine",
            ),
            source="compatible_version_fw in the driver's version.info",
            evidence=Evidence.PACKAGE,
        )


def _pair_is_listed(facts: Facts) -> bool:
    cann = facts.cann.active
    known = cann is not None and any(pair.cann == family(cann.version) for pair in driver_pairs())
    return known and bool(facts.driver.version or facts.smi.driver)


@check(
    "driver.cann",
    "Driver and CANN match",
    after=("driver.version", "cann.environment"),
    needs=lambda facts: _pair_is_listed(facts),
)
def driver_cann(facts: Facts) -> Iterator[Result]:
    """The driver is one that the release notes of CANN list."""
    driver = facts.driver.version or facts.smi.driver
    cann = facts.cann.active
    if not driver or cann is None:
        return
    for pair in driver_pairs():
        if pair.cann != family(cann.version) or family(driver) in pair.drivers:
            continue
        yield result(
            "driver.cann",
            Status.ERROR if all(_older(driver, listed) for listed in pair.drivers) else Status.WARNING,
            phrase(
                "CANN {version} needs driver {drivers}, but {driver} is installed",
                version=cann.version,
                drivers=commas(pair.drivers),
                driver=driver,
            ),
            advice=phrase("install a driver and firmware from that list, or a CANN that matches this driver"),
            mend=Mend(
                (
                    "# "
                    + phrase(
                        "install driver and firmware {version} on the host, then restart it", version=pair.drivers[-1]
                    ),
                ),
                root=True,
                place="host" if facts.host.container else "machine",
            ),
            evidence=pair.evidence,
            source=pair.source,
        )


def _older(version: str, listed: str) -> bool:
    return tuple(map(int, family(version).split("."))) < tuple(map(int, listed.split(".")))
