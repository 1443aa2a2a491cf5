"""What the collective library needs: addresses and links of the cards' own ports, TLS, ports, rank table, firewall.

Formats of ``hccn_tool`` and ``/etc/hccn.conf`` are those of the vendor's guides. The tool lies in the driver's folder
and needs an administrator on some systems; what it does not answer is taken from ``/etc/hccn.conf``.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

from npuify.language import phrase

from .driver import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.doctor.machine import Sight

_CONF: Final = re.compile(r"^\s*(address|netmask)_(\d+)\s*=\s*(\S+)", re.MULTILINE)


class Port(msgspec.Struct, frozen=True, kw_only=True):
    """The network port of one card. Empty: not told."""

    card: int
    address: str = ""
    netmask: str = ""
    link: str = ""
    """``UP`` or ``DOWN``."""
    tls: str = ""
    """``1`` on, ``0`` off."""


class RankTable(msgspec.Struct, frozen=True, kw_only=True):
    """What ``RANK_TABLE_FILE`` names."""

    path: str
    problem: str = ""
    addresses: tuple[str, ...] = ()
    servers: int = 0


class Hccl(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about collective communication."""

    ports: tuple[Port, ...]
    asked: bool
    """Whether ``hccn_tool`` answered."""
    rank_table: RankTable | None
    reserved: str
    """``net.ipv4.ip_local_reserved_ports``."""
    busy: tuple[int, ...]
    """Ports of HCCL that something listens on."""
    listed: bool
    """Whether it is known on which ports something listens."""
    firewall: str
    """The name of the firewall that runs; empty: none is known to."""


HOST_PORTS: Final = range(60000, 60032)
CARD_PORT: Final = 16666
"""Where HCCL listens on the host and on each card unless told otherwise. Source: hicann/hccl documentation."""


def read(machine: Sight, cards: Sequence[int]) -> Hccl:
    """Ask for each of ``cards``, the numbers of their device files."""
    conf: dict[int, dict[str, str]] = {}
    for kind, number, value in _CONF.findall(machine.read("/etc/hccn.conf") or ""):
        conf.setdefault(int(number), {})[kind] = value
    ports, asked = [], False
    for card in cards:
        told = {what: _ask(machine, card, what) for what in ("ip", "link", "tls")}
        asked = asked or any(told.values())
        address = re.search(r"ipaddr\s*:\s*(\S+)", told["ip"])
        netmask = re.search(r"netmask\s*:\s*(\S+)", told["ip"])
        link = re.search("link status\\s*:\\s*(\\w+)", told["link"])
        tls = re.search("tls switch\\s*\\[(\\d)\\]", told["tls"])
        written = conf.get(card, {})
        ports.append(
            Port(
                card=card,
                address=address[1] if address else written.get("address", ""),
                netmask=netmask[1] if netmask else written.get("netmask", ""),
                link=link[1].upper() if link else "",
                tls=tls[1] if tls else "",
            )
        )
    listening = machine.run("ss -Hltn", ["ss", "-Hltn"])
    return Hccl(
        ports=tuple(ports),
        asked=asked,
        rank_table=_rank_table(machine),
        reserved=(machine.read("/proc/sys/net/ipv4/ip_local_reserved_ports") or "").strip(),
        busy=_busy(listening.stdout),
        listed=not listening.missing,
        firewall=_firewall(machine),
    )


def _ask(machine: Sight, card: int, what: str) -> str:
    name = f"hccn_tool -i {card} -{what} -g"
    for program in ("hccn_tool", f"{DEFAULT}/driver/tools/hccn_tool"):
        answer = machine.run(name, [program, "-i", str(card), f"-{what}", "-g"])
        if not answer.missing:
            return answer.stdout if answer.code == 0 else ""
    return ""


def _rank_table(machine: Sight) -> RankTable | None:
    path = machine.environment.get("RANK_TABLE_FILE", "")
    if not path:
        return None
    if machine.node(path) is None:
        return RankTable(path=path, problem=phrase("the file is not there"))
    if machine.real(path) != path:
        return RankTable(path=path, problem=phrase("it is a symbolic link, which HCCL does not follow"))
    text = machine.read(path)
    if text is None:
        return RankTable(path=path, problem=phrase("the file cannot be read"))
    try:
        table: Any = json.loads(text)
    except ValueError as error:
        return RankTable(path=path, problem=phrase("it is not JSON: {error}", error=error))
    if not isinstance(table, dict):
        return RankTable(path=path, problem=phrase("it contains no table"))
    if table.get("status") != "completed":
        return RankTable(path=path, problem=phrase("its status is {get!r}, not 'completed'", get=table.get("status")))
    servers = table.get("server_list") or []
    if table.get("version") == "2.0":
        return RankTable(path=path, servers=1)
    if not isinstance(servers, list) or not servers:
        return RankTable(path=path, problem=phrase("it has no server_list"))
    devices = [one for server in servers if isinstance(server, dict) for one in server.get("device") or []]
    ranks = [str(one.get("rank_id")) for one in devices if isinstance(one, dict)]
    if sorted(ranks) != sorted(str(number) for number in range(len(ranks))) or not ranks:
        return RankTable(
            path=path, problem=phrase("its ranks are not 0 to {value}, each once", value=max(0, len(ranks) - 1))
        )
    return RankTable(
        path=path,
        addresses=tuple(str(one.get("device_ip", "")) for one in devices),
        servers=len(servers),
    )


def _busy(listening: str) -> tuple[int, ...]:
    """Ports of HCCL among those that ``ss`` shows as listening."""
    found = set()
    for line in listening.splitlines():
        words = line.split()
        if len(words) > 3 and words[0] == "LISTEN":
            port = words[3].rpartition(":")[2]
            if port.isdigit() and (int(port) in HOST_PORTS or int(port) == CARD_PORT):
                found.add(int(port))
    return tuple(sorted(found))


def _firewall(machine: Sight) -> str:
    for service in ("firewalld", "ufw"):
        answer = machine.run(f"systemctl is-active {service}", ["systemctl", "is-active", service])
        if answer.stdout.strip() == "active":
            return service
    return ""
