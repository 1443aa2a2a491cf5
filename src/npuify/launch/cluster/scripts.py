"""The scripts of a cluster: set addresses, check the network, set the kernel."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from npuify.knowledge.machine.launching import kernel_settings, network_checks
from npuify.language import phrase
from npuify.launch.template import filled

if TYPE_CHECKING:
    from npuify.knowledge.machine.launching import NetworkCheck
    from npuify.launch.cluster.plan import Card, Machine, Plan


def addresses_script(plan: Plan, machine: Machine) -> str:
    """Sets the addresses of the cards of one machine, where they are not set already."""
    lines = [
        phrase("set_address {card} {address} {netmask}", card=card.card, address=card.address, netmask=card.netmask)
        for card in machine.cards
    ]
    if plan.gateway:
        lines += [
            phrase("run -i {card} -gateway -s gateway {gateway}", card=card.card, gateway=plan.gateway)
            for card in machine.cards
        ]
    others = [other for other in plan.machines if other is not machine]
    for position, card in enumerate(machine.cards):
        watched = plan.gateway or (others[0].cards[position].address if others else "")
        if watched:
            lines.append(phrase("run -i {card} -netdetect -s address {watched}", card=card.card, watched=watched))
    return filled("addresses.sh", machine=machine.name, title=plan.product.title, commands="\n".join(lines))


def check_script(plan: Plan, machine: Machine) -> str:
    """Asks the cards of one machine, and tells what is not as planned."""
    blocks = []
    for row in network_checks():
        if row.products and plan.product.name not in row.products:
            continue
        lines = [f"# {row.name}: {_filled(row.message, plan)} [{row.evidence.value}]"]
        for position, card in enumerate(machine.cards):
            lines += _asked(plan, row, machine, card, position)
        if len(lines) > 1:
            blocks.append("\n".join(lines))
    return filled("check.sh", machine=machine.name, title=plan.product.title, checks="\n\n".join(blocks))


def kernel_script() -> str:
    """Sets what the kernel of each machine needs, now and at each start."""
    ports = [row for row in kernel_settings() if row.name.endswith("ip_local_reserved_ports")]
    lines = []
    for row in kernel_settings():
        lines.append(f"# {row.message} [{row.evidence.value}]")
        lines.append(f"{'add_ports' if row in ports else 'at_least'} {row.name} {row.value}")
    return filled("kernel_settings.sh", settings="\n".join(lines))


def _asked(plan: Plan, row: NetworkCheck, machine: Machine, card: Card, position: int) -> list[str]:
    good = row.good.replace("{address}", re.escape(card.address)).replace("{tls}", str(plan.tls))
    if not row.per_peer:
        return [_line(row, f"card {card.card}", good, card=str(card.card))]
    return [
        _line(
            row,
            phrase("card {card} to {name}", card=card.card, name=other.name),
            good,
            card=str(card.card),
            peer=other.cards[position].address,
        )
        for other in plan.machines
        if other is not machine
    ]


def _line(row: NetworkCheck, what: str, good: str, **values: str) -> str:
    command = row.command.removeprefix("hccn_tool ").format(**values)
    if not good:
        return f"show {shlex.quote(f'{row.name}, {what}')} {command}"
    return f"expect {shlex.quote(f'{row.name}, {what}')} {shlex.quote(good)} {command}"


def _filled(message: str, plan: Plan) -> str:
    return message.replace("{tls}", str(plan.tls))
