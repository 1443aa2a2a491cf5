"""The answer of ``npu-smi info``, in all layouts that are known.

Columns differ in width and number between tools and chips, so a line is cut at ``|`` and each cell is read by itself.
Formats: facts/facts.md, section 1 (vendor logs and public issue threads: 910A with tools 1.8 to 23.0, first-generation
"910B", A2 910B1 to 910B4, A3 with two dies, 310P).
"""

from __future__ import annotations

import re
from typing import Final

import msgspec


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One chip. Sizes are MiB; -1 stands for what the tool does not tell."""

    npu: int
    chip: int
    physical: int
    """The number of its device file: ``/dev/davinci<physical>``."""
    told: bool = True
    """Whether the tool gave ``physical``; else cards were counted."""
    name: str
    health: str
    power_w: float = -1.0
    temperature_c: int = -1
    bus: str = ""
    aicore_percent: int = -1
    ddr_used: int = -1
    ddr_total: int = -1
    hbm_used: int = -1
    hbm_total: int = -1

    @property
    def memory(self) -> tuple[int, int]:
        """Used and total of the memory that tensors live in."""
        return (self.hbm_used, self.hbm_total) if self.hbm_total > 0 else (self.ddr_used, self.ddr_total)


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """A process on a chip."""

    npu: int
    chip: int
    pid: int
    name: str
    memory_mib: int


class NpuSmi(msgspec.Struct, frozen=True, kw_only=True):
    """What the tool said. ``problem`` is its own complaint where it shows no cards."""

    tool: str = ""
    driver: str = ""
    cards: tuple[Card, ...] = ()
    processes: tuple[Process, ...] = ()
    problem: str = ""
    problem_code: int = 0
    """The number in the complaint: -8005, -8020 ..."""


_VERSIONS: Final = re.compile(r"npu-smi\s+(?P<tool>\S+)\s+Version:\s*(?P<driver>\S+)", re.IGNORECASE)
_RETURNED: Final = re.compile(r"\bret(?:urn)?(?:\s+code)?\s*(?:is|=|:)?\s*(-?\d{3,})")
_PAIR: Final = re.compile(r"(-?\d+)\s*/\s*(-?\d+)")
_BUS: Final = re.compile(r"^(?:[0-9a-fx*]{4,8}:)?[0-9a-fx*]{2}:[0-9a-fx*]{2}\.[0-9a-fx*]$|^NA$", re.IGNORECASE)
"""An address on the PCI bus; people make parts of it unreadable with ``x`` or ``*``."""
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")


def parse(text: str) -> NpuSmi:
    """The cards and processes in ``text``; never raises."""
    versions = _VERSIONS.search(text)
    cards: list[Card] = []
    processes: list[Process] = []
    head: list[str] | None = None
    in_processes = device_column = False
    for line in text.splitlines():
        if not line.lstrip().startswith("|"):
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        words = cells[0].split()
        if not words:
            continue
        if words[0] == "NPU":
            in_processes = any("process" in cell.lower() for cell in cells)
            head = None
        elif words[0] == "Chip":
            device_column = len(words) > 1
        elif in_processes:
            found = _process(cells)
            if found is not None:
                processes.append(found)
        elif head is not None and len(cells) >= 2 and words[0].isdigit() and _BUS.match(cells[1]):
            card = _card(head, cells, len(cards), device_column=device_column)
            if card is not None:
                cards.append(card)
            head = None
        elif words[0].isdigit() and len(words) > 1 and len(cells) >= 3:
            head = cells
    problem, code = ("", 0) if cards else _problem(text)
    return NpuSmi(
        tool=versions["tool"] if versions else "",
        driver=versions["driver"] if versions else "",
        cards=tuple(cards),
        processes=tuple(processes),
        problem=problem,
        problem_code=code,
    )


def numbered(smi: NpuSmi, files: tuple[int, ...]) -> NpuSmi:
    """Give cards the numbers of their device files, where the tool's table has no column for them.

    On servers the number of the card is that of its file, in containers that hold some of the cards too. Cards in PCIe
    slots are numbered by slot; there the order is the same.
    """
    if all(card.told for card in smi.cards):
        return smi
    numbers = [card.npu for card in smi.cards]
    if len(set(numbers)) < len(numbers) or not set(numbers) <= set(files):
        if len(files) != len(numbers):
            return smi
        numbers = sorted(files)
    cards = zip(smi.cards, numbers, strict=True)
    return msgspec.structs.replace(
        smi, cards=tuple(msgspec.structs.replace(card, physical=number) for card, number in cards)
    )


def _card(head: list[str], body: list[str], count: int, *, device_column: bool) -> Card | None:
    npu, _, name = head[0].partition(" ")
    words = body[0].split()
    chip = int(words[0])
    told = device_column and len(words) > 1 and words[1].isdigit()
    figures = " ".join(head[2:]).split()
    usage = " ".join(body[2:])
    pairs = [(int(used), int(total)) for used, total in _PAIR.findall(usage)]
    load = _NUMBER.match(usage.strip())
    ddr = pairs[0] if pairs else (-1, -1)
    hbm = pairs[1] if len(pairs) > 1 else (-1, -1)
    if not name:
        return None
    return Card(
        npu=int(npu),
        chip=chip,
        physical=int(words[1]) if told else count,
        told=told,
        name=name.strip(),
        health=head[1],
        power_w=_figure(figures[0]) if figures else -1.0,
        temperature_c=int(_figure(figures[1])) if len(figures) > 1 else -1,
        bus="" if body[1].upper() == "NA" else body[1],
        aicore_percent=int(float(load[0])) if load else -1,
        ddr_used=ddr[0],
        ddr_total=ddr[1],
        hbm_used=hbm[0],
        hbm_total=hbm[1],
    )


def _figure(text: str) -> float:
    return float(text) if _NUMBER.fullmatch(text) else -1.0


def _process(cells: list[str]) -> Process | None:
    """``| 0  0 | 12345 | python3 | 3012 |``; "No running processes" gives none."""
    numbers = cells[0].split()
    if len(cells) < 4 or len(numbers) < 2 or not all(part.isdigit() for part in (*numbers[:2], cells[1])):
        return None
    memory = _NUMBER.match(cells[3])
    return Process(
        npu=int(numbers[0]),
        chip=int(numbers[1]),
        pid=int(cells[1]),
        name=cells[2],
        memory_mib=int(float(memory[0])) if memory else -1,
    )


def _problem(text: str) -> tuple[str, int]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in reversed(lines):
        found = _RETURNED.search(line)
        if found:
            return line, int(found[1])
    return (lines[-1] if lines else ""), 0
