"""Cards and their driver: seen, well, free, reachable, and with firmware that fits."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from npuify.doctor.probes.host import CONTROL_DEVICES
from npuify.doctor.probes.versions import between, family, same
from npuify.knowledge.machines import driver_pairs
from npuify.language import commas, phrase
from npuify.model import Evidence
from npuify.report.doctor import Mend, Result, Status

from .base import check, result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.doctor.facts import Facts

_CODES = {
    -8005: (
        "npu-smi cannot open the driver",
        "another container holds the cards, the driver is new and the machine was not restarted, or access is denied",
    ),
    -8020: (
        "another container or virtual machine holds the cards",
        "stop it, or use other cards here; a card belongs to one container at a time",
    ),
}
_CODES_SOURCE = "vllm-project/vllm-ascend#2698, #632; Ascend/cann-container-image#46"


@check("cards.seen", "Cards are visible", live=True)
def cards_seen(facts: Facts) -> Iterator[Result]:
    """``npu-smi info`` shows at least one chip, and as many as the PCI bus has."""
    smi, host = facts.smi, facts.host
    if not facts.files_known and not facts.smi_answered:
        yield result(
            "cards.seen",
            Status.SKIPPED,
            phrase("nothing is known of cards: what was given holds no files of a machine and no answer of npu-smi"),
            advice=phrase("capture the machine with: npuify doctor --capture FILE"),
        )
        return
    if smi.cards:
        if not host.container and host.pci_cards > len({card.bus or str(card) for card in smi.cards}) > 0:
            yield result(
                "cards.seen",
                Status.WARNING,
                phrase(
                    "npu-smi shows {number} chips, but {pci_cards} are on the PCI bus",
                    number=len(smi.cards),
                    pci_cards=host.pci_cards,
                ),
                advice=phrase("look for failed cards in the kernel log: dmesg | grep -i davinci"),
                evidence=Evidence.ASSUMED,
                source="vendor 19e5 on the PCI bus",
            )
        return
    if host.container and not (host.davinci() and set(CONTROL_DEVICES) <= set(host.devices)):
        return  # the complaint follows from what the container lacks, which container.mounts tells
    if smi.problem_code in _CODES:
        what, why = _CODES[smi.problem_code]
        yield result(
            "cards.seen",
            Status.ERROR,
            f"{what}: {smi.problem!r}",
            advice=why,
            mend=Mend(("ls -l /dev/davinci*", "dmesg | tail -50"), root=True),
            evidence=Evidence.REPORTED,
            source=_CODES_SOURCE,
        )
    elif facts.smi_answered:
        said = f": {smi.problem!r}" if smi.problem else ""
        yield result(
            "cards.seen",
            Status.ERROR,
            phrase("npu-smi shows no cards{said}", said=said),
            advice=phrase(
                "check whether the driver is loaded: lsmod | grep drv; restart the machine after an installation"
            ),
            mend=Mend(("npu-smi info", "lsmod | grep drv_"), root=True),
        )
    elif host.davinci():
        yield result(
            "cards.seen",
            Status.ERROR,
            phrase("there are device files for cards, but no npu-smi"),
            advice=phrase("add the driver's tools to PATH, or reinstall the driver"),
            mend=Mend(("ls /usr/local/sbin/npu-smi /usr/local/bin/npu-smi",)),
        )
    else:
        on_bus = (
            phrase(", although {pci_cards} are on the PCI bus", pci_cards=host.pci_cards) if host.pci_cards > 0 else ""
        )
        yield result(
            "cards.seen",
            Status.ERROR,
            phrase(
                "no Ascend card is visible here{on_bus}: there is no npu-smi and no /dev/davinci* file", on_bus=on_bus
            ),
            advice=phrase("install the card's driver and firmware, then restart the machine"),
        )


@check("cards.health", "Cards are healthy", after=("cards.seen",), needs=lambda facts: bool(facts.smi.cards))
def cards_health(facts: Facts) -> Iterator[Result]:
    """Every chip says OK."""
    for card in facts.smi.cards:
        health = card.health.upper()
        if health == "OK":
            continue
        command = f"npu-smi info -t health -i {card.npu} -c {card.chip}"
        yield result(
            "cards.health",
            Status.WARNING if health == "WARNING" else Status.ERROR,
            phrase(
                "NPU {npu} chip {chip} ({name}) says {health!r}",
                npu=card.npu,
                chip=card.chip,
                name=card.name,
                health=card.health,
            ),
            advice=phrase("query the error code; a card with faulty memory must be taken out of service"),
            mend=Mend((command, f"npu-smi info -t ecc -i {card.npu} -c {card.chip}"), root=True),
        )


@check("cards.processes", "Cards are free", after=("cards.seen",), needs=lambda facts: bool(facts.smi.cards))
def cards_processes(facts: Facts) -> Iterator[Result]:
    """No other process works on the cards."""
    by_card: dict[int, list[str]] = {}
    for process in facts.smi.processes:
        by_card.setdefault(process.npu, []).append(f"{process.name} ({process.pid}, {process.memory_mib} MB)")
    for npu, names in by_card.items():
        shown = ", ".join(names[:3]) + (phrase(" and {value} more", value=len(names) - 3) if len(names) > 3 else "")
        yield result(
            "cards.processes",
            Status.WARNING,
            phrase("other processes use NPU {npu}: {shown}", npu=npu, shown=shown),
            advice=phrase("use other cards with ASCEND_RT_VISIBLE_DEVICES, or end leftover processes"),
            mend=Mend((f"npu-smi info -t proc-mem -i {npu}",)),
        )


_FULL = 0.9
"""Part of a card's memory from which it is called full."""


@check(
    "cards.memory",
    "Cards have free memory",
    after=("cards.seen", "cards.processes"),
    needs=lambda facts: bool(facts.smi.cards),
)
def cards_memory(facts: Facts) -> Iterator[Result]:
    """No card is full, or more than a fifth full without a process that would explain it."""
    explained = {process.npu for process in facts.smi.processes}
    for card in facts.smi.cards:
        used, total = card.memory
        if total > 0 and used / total >= _FULL and card.npu in explained:
            yield result(
                "cards.memory",
                Status.WARNING,
                phrase(
                    "NPU {npu} chip {chip} is full: {used} of {total} MiB are in use by the processes named",
                    npu=card.npu,
                    chip=card.chip,
                    used=used,
                    total=total,
                ),
                advice=phrase("end them or wait, or use other cards with ASCEND_RT_VISIBLE_DEVICES"),
                mend=Mend((f"npu-smi info -t proc-mem -i {card.npu} -c {card.chip}",)),
                evidence=Evidence.ASSUMED,
                source="nine tenths is our threshold",
            )
        if total <= 0 or card.npu in explained or used / total <= 0.2:
            continue
        yield result(
            "cards.memory",
            Status.WARNING,
            phrase(
                "NPU {npu} chip {chip}: {used} of {total} MiB are in use, but by no process visible here",
                npu=card.npu,
                chip=card.chip,
                used=used,
                total=total,
            ),
            advice=phrase("a process outside this container, or a killed one that has not exited, holds them"),
            mend=Mend((f"npu-smi info -t proc-mem -i {card.npu} -c {card.chip}",), place="host"),
            evidence=Evidence.ASSUMED,
            source="a fifth is our threshold; idle cards in public logs use up to a tenth",
        )


@check("cards.same", "Cards are of the same kind", after=("cards.seen",), needs=lambda facts: bool(facts.smi.cards))
def cards_same(facts: Facts) -> Iterator[Result]:
    """All cards of a machine carry the same name, and it is known."""
    names = Counter(card.name for card in facts.smi.cards)
    if len(names) > 1:
        yield result(
            "cards.same",
            Status.WARNING,
            phrase("cards of several kinds: ") + ", ".join(f"{count} × {name}" for name, count in names.items()),
            advice=phrase("select cards of one kind with ASCEND_RT_VISIBLE_DEVICES"),
            evidence=Evidence.ASSUMED,
        )
    elif names and facts.chip is None:
        yield result(
            "cards.same",
            Status.INFO,
            phrase("npuify does not know the chip {next!r}; chip-dependent checks are skipped", next=next(iter(names))),
            evidence=Evidence.ASSUMED,
        )


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
