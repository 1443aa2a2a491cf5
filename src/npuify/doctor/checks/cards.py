"""Cards and their driver: seen, well, free, reachable, and with firmware that fits."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from npuify.doctor.probes.host import CONTROL_DEVICES
from npuify.language import phrase
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
    yield _none_seen(facts)


def _none_seen(facts: Facts) -> Result:
    """Why no card is visible, as far as npu-smi's answer and the files of the machine tell."""
    smi, host = facts.smi, facts.host
    if smi.problem_code in _CODES:
        what, why = _CODES[smi.problem_code]
        return result(
            "cards.seen",
            Status.ERROR,
            f"{what}: {smi.problem!r}",
            advice=why,
            mend=Mend(("ls -l /dev/davinci*", "dmesg | tail -50"), root=True),
            evidence=Evidence.REPORTED,
            source=_CODES_SOURCE,
        )
    if facts.smi_answered:
        said = f": {smi.problem!r}" if smi.problem else ""
        return result(
            "cards.seen",
            Status.ERROR,
            phrase("npu-smi shows no cards{said}", said=said),
            advice=phrase(
                "check whether the driver is loaded: lsmod | grep drv; restart the machine after an installation"
            ),
            mend=Mend(("npu-smi info", "lsmod | grep drv_"), root=True),
        )
    if host.davinci():
        return result(
            "cards.seen",
            Status.ERROR,
            phrase("there are device files for cards, but no npu-smi"),
            advice=phrase("add the driver's tools to PATH, or reinstall the driver"),
            mend=Mend(("ls /usr/local/sbin/npu-smi /usr/local/bin/npu-smi",)),
        )
    on_bus = phrase(", although {pci_cards} are on the PCI bus", pci_cards=host.pci_cards) if host.pci_cards > 0 else ""
    return result(
        "cards.seen",
        Status.ERROR,
        phrase("no Ascend card is visible here{on_bus}: there is no npu-smi and no /dev/davinci* file", on_bus=on_bus),
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
