"""Collective communication: ports of the cards, TLS, rank table, ports of the host, firewall, variables."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Final

from npuify.doctor.probes.hccl import CARD_PORT, HOST_PORTS
from npuify.language import commas, phrase
from npuify.model import Evidence
from npuify.report.doctor import Mend, Result, Status

from .base import check, result
from .paddle import is_for_paddle
from .tensorflow import is_for_tensorflow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.doctor.facts import Facts
    from npuify.doctor.probes.hccl import Port

_SOURCE: Final = "hicann/hccl documentation; facts/facts.md section 4"
_FIRST_GENERATION: Final = "ascend910"


@check(
    "hccl.addresses",
    "Cards have network addresses",
    after=("cards.seen",),
    needs=lambda facts: (
        len(facts.hccl.ports) > 1 and (facts.hccl.asked or any(port.address for port in facts.hccl.ports))
    ),
)
def addresses(facts: Facts) -> Iterator[Result]:
    """Addresses are there where they are needed, and differ."""
    ports = facts.hccl.ports
    if len(ports) < 2:
        return
    with_address = [port for port in ports if port.address]
    seen: dict[str, int] = {}
    for port in with_address:
        if port.address in seen:
            yield result(
                "hccl.addresses",
                Status.ERROR,
                phrase(
                    "cards {seen} and {card} have the same address {address}",
                    seen=seen[port.address],
                    card=port.card,
                    address=port.address,
                ),
                advice="give each card in the cluster its own address",
                mend=Mend(
                    (f"# hccn_tool -i {port.card} -ip -s address <free address> netmask {port.netmask or '<mask>'}",),
                    root=True,
                    place="host",
                ),
                source=_SOURCE,
            )
        seen.setdefault(port.address, port.card)
    first = facts.chip is not None and facts.chip.kernels == _FIRST_GENERATION
    missing = [port.card for port in ports if not port.address]
    if not missing or not (facts.hccl.asked or with_address):
        return
    needed = first or facts.network or bool(with_address)
    if needed:
        why = (
            "the first generation needs them even within a single machine"
            if first
            else "several machines need them"
            if facts.network
            else "the other cards have one"
        )
        yield result(
            "hccl.addresses",
            Status.ERROR,
            phrase("cards {list} have no network address; {why}", list=_list(missing), why=why),
            advice="set one for each card; on the first generation, cards 0 and 4, 1 and 5 and so on share a subnet",
            mend=Mend(
                tuple(f"# hccn_tool -i {card} -ip -s address <address> netmask <mask>" for card in missing),
                root=True,
                place="host",
            ),
            source=_SOURCE,
        )


@check(
    "hccl.subnets",
    "Addresses are in the right subnets",
    after=("hccl.addresses",),
    needs=lambda facts: _in_pairs(facts) and all(map(_network, facts.hccl.ports)),
)
def subnets(facts: Facts) -> Iterator[Result]:
    """On the first generation four pairs of cards lie in four subnets."""
    if not _in_pairs(facts):
        return
    nets = [_network(port) for port in facts.hccl.ports]
    if any(net is None for net in nets):
        return
    wrong = [pair for pair in range(4) if nets[pair] != nets[pair + 4]]
    if wrong or len(set(nets[:4])) < 4:
        yield result(
            "hccl.subnets",
            Status.ERROR,
            "the addresses of the cards are not in four subnets of two cards each",
            advice="cards 0 and 4, 1 and 5, 2 and 6, 3 and 7 share a subnet; the four differ",
            mend=Mend(("# hccn_tool -i <card> -ip -s address <address> netmask <mask>",), root=True, place="host"),
            source=_SOURCE,
        )


@check(
    "hccl.links",
    "Card links are up",
    after=("cards.seen", "hccl.addresses"),
    needs=lambda facts: not _links_lie(facts) and any(port.link for port in facts.hccl.ports),
)
def links(facts: Facts) -> Iterator[Result]:
    """A card that has an address has a link. Not asked on Atlas A3, whose tool calls working links down."""
    if _links_lie(facts):
        return
    down = [port.card for port in facts.hccl.ports if port.link == "DOWN" and port.address]
    if down:
        yield result(
            "hccl.links",
            Status.ERROR,
            phrase("the network link of cards {list} is down, although they have addresses", list=_list(down)),
            advice="check cable, optical module and switch; programs on this machine alone may run without it",
            mend=Mend(tuple(f"hccn_tool -i {card} -link_stat -g" for card in down), root=True, place="host"),
            source=_SOURCE,
        )


@check(
    "hccl.tls",
    "TLS is the same on all cards",
    after=("cards.seen",),
    needs=lambda facts: sum(bool(port.tls) for port in facts.hccl.ports) > 1,
)
def tls(facts: Facts) -> Iterator[Result]:
    """All cards of this machine have TLS on, or all have it off."""
    states: dict[str, list[int]] = {}
    for port in facts.hccl.ports:
        if port.tls:
            states.setdefault(port.tls, []).append(port.card)
    if len(states) > 1:
        on, off = states.get("1", []), states.get("0", [])
        yield result(
            "hccl.tls",
            Status.ERROR,
            phrase("TLS is on for cards {list} and off for cards {list2}", list=_list(on), list2=_list(off)),
            advice="it must be the same on every card of every machine",
            mend=Mend(tuple(f"hccn_tool -i {card} -tls -s enable 0" for card in on), root=True, place="host"),
            source="hicann/hccl cluster_info_verify_fail.md: EI0016",
        )


@check(
    "hccl.rank-table",
    "The rank table is valid",
    after=("hccl.addresses",),
    needs=lambda facts: facts.hccl.rank_table is not None,
)
def rank_table(facts: Facts) -> Iterator[Result]:
    """``RANK_TABLE_FILE`` names a table that HCCL takes, with addresses that the cards have."""
    table = facts.hccl.rank_table
    if table is None:
        return
    problem = table.problem
    own = {port.address for port in facts.hccl.ports if port.address}
    if not problem and own and table.addresses and any(table.addresses) and not own & set(table.addresses):
        problem = phrase("none of its addresses belongs to this machine's cards ({own} …)", own=commas(sorted(own)[:2]))
    if problem:
        yield result(
            "hccl.rank-table",
            Status.ERROR,
            f"RANK_TABLE_FILE={table.path}: {problem}",
            advice="regenerate it for this cluster"
            + (
                ""
                if is_for_tensorflow(facts) or is_for_paddle(facts)
                else ", or unset the variable: PyTorch needs none"
            ),
            mend=Mend(("unset RANK_TABLE_FILE",), place="shell"),
            source="hicann/hccl rank_table_load_fail.md: EI0004, EI0014",
        )


@check("hccl.ports", "HCCL's ports are free", needs=lambda facts: facts.hccl.listed, live=True)
def ports(facts: Facts) -> Iterator[Result]:
    """Nothing listens where HCCL will."""
    busy = facts.hccl.busy
    if busy and "HCCL_IF_BASE_PORT" not in facts.environment and "HCCL_HOST_SOCKET_PORT_RANGE" not in facts.environment:
        yield result(
            "hccl.ports",
            Status.WARNING,
            phrase("HCCL ports are in use: {list}", list=_list(busy)),
            advice="by another job on this machine, or a leftover one; end it, or choose other ports",
            mend=Mend(("export HCCL_IF_BASE_PORT=61000",), place="shell"),
            source="hicann/hccl HCCL_IF_BASE_PORT.md: 60000 to 60031; EJ0003, EI0019",
        )
    if facts.network and str(HOST_PORTS.start) not in facts.hccl.reserved:
        yield result(
            "hccl.ports",
            Status.INFO,
            phrase(
                "ports {start} to {value} and {CARD_PORT} are not reserved",
                start=HOST_PORTS.start,
                value=HOST_PORTS.stop - 1,
                CARD_PORT=CARD_PORT,
            ),
            mend=Mend(
                (f"sysctl -w net.ipv4.ip_local_reserved_ports={HOST_PORTS.start}-{HOST_PORTS.stop - 1},{CARD_PORT}",),
                root=True,
            ),
            source="hicann/hccl HCCL_IF_BASE_PORT.md",
        )


@check(
    "hccl.network",
    "Ranks can connect over the host's network",
    needs=lambda facts: facts.network or bool(facts.environment.get("HCCL_SOCKET_IFNAME") and facts.host.interfaces),
    live=True,
)
def host_network(facts: Facts) -> Iterator[Result]:
    """Firewall, host name and interface, where several machines work together."""
    wanted = facts.environment.get("HCCL_SOCKET_IFNAME", "")
    if wanted and facts.host.interfaces and not wanted.startswith("^"):
        names = [name.removeprefix("=") for name in wanted.split(",")]
        if not any(interface.startswith(name) for name in names for interface in facts.host.interfaces):
            yield result(
                "hccl.network",
                Status.ERROR,
                phrase(
                    "HCCL_SOCKET_IFNAME={wanted}, but the interfaces here are {interfaces}",
                    wanted=wanted,
                    interfaces=commas(facts.host.interfaces),
                ),
                advice="choose one of them, the one through which the machines reach each other",
                mend=Mend(("unset HCCL_SOCKET_IFNAME",), place="shell"),
                source="hicann/hccl env_config_error_EI0001.md",
            )
    if facts.network and facts.hccl.firewall:
        yield result(
            "hccl.network",
            Status.WARNING,
            phrase(
                "the firewall {firewall} is running; it must let the other machines in", firewall=facts.hccl.firewall
            ),
            advice=phrase(
                "open ports {start} to {value} and the MASTER_PORT between the machines",
                start=HOST_PORTS.start,
                value=HOST_PORTS.stop - 1,
            ),
            evidence=Evidence.REPORTED,
            source="EI0006 and EI0015 in public threads",
        )
    if facts.network and any(ipaddress.ip_address(one).is_loopback for one in _plain(facts.host.addresses_of_name)):
        yield result(
            "hccl.network",
            Status.WARNING,
            phrase(
                "/etc/hosts maps the host's own name {name} to {addresses_of_name}",
                name=facts.host.name,
                addresses_of_name=facts.host.addresses_of_name[0],
            ),
            advice="other machines cannot reach it there; set HCCL_IF_IP and GLOO_SOCKET_IFNAME, or correct /etc/hosts",
            evidence=Evidence.ASSUMED,
        )


_BOUNDS: Final = {
    "HCCL_CONNECT_TIMEOUT": (120, 7200),
    "HCCL_IF_BASE_PORT": (1024, 65520),
    "HCCL_RDMA_TC": (0, 255),
    "HCCL_RDMA_SL": (0, 7),
    "HCCL_RDMA_RETRY_CNT": (1, 7),
}


@check("hccl.variables", "HCCL variables are in range", needs=lambda facts: bool(facts.environment), live=True)
def variables(facts: Facts) -> Iterator[Result]:
    """A value out of range ends the program with EI0001."""
    for name, (lowest, highest) in _BOUNDS.items():
        value = facts.environment.get(name)
        if value is None or (value.isdigit() and lowest <= int(value) <= highest):
            continue
        yield result(
            "hccl.variables",
            Status.ERROR,
            phrase(
                "{name}={value!r} is not a number from {lowest} to {highest}",
                name=name,
                value=value,
                lowest=lowest,
                highest=highest,
            ),
            mend=Mend((f"unset {name}",), place="shell"),
            source=f"hicann/hccl {name}.md",
        )


def _in_pairs(facts: Facts) -> bool:
    """Whether cards of this machine have to lie in four subnets of two."""
    return facts.chip is not None and facts.chip.kernels == _FIRST_GENERATION and len(facts.hccl.ports) == 8


def _links_lie(facts: Facts) -> bool:
    """Whether the tool calls working links down."""
    return facts.chip is not None and facts.chip.kernels == "ascend910_93"


def _network(port: Port) -> str | None:
    try:
        return str(ipaddress.ip_interface(f"{port.address}/{port.netmask or '255.255.255.0'}").network)
    except ValueError:
        return None


def _plain(addresses: tuple[str, ...]) -> list[str]:
    plain = []
    for one in addresses:
        try:
            plain.append(str(ipaddress.ip_address(one)))
        except ValueError:
            continue
    return plain


def _list(numbers: list[int] | tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers))
