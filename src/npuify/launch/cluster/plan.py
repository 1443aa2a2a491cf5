"""The plan of a cluster: which card has which rank and address. What would not work is refused, with its row."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

import msgspec

from npuify.knowledge.machine.launching import ClusterProduct, cluster_product
from npuify.language import commas, phrase
from npuify.launch.cluster.networks import Address, Network, card_networks, read_address
from npuify.model import NpuifyError

if TYPE_CHECKING:
    from npuify.launch.cluster.hosts import Host, HostsFile


class Card(msgspec.Struct, frozen=True):
    """One rank. ``address`` and ``netmask`` are empty where nothing is known or set."""

    card: int
    rank: int
    address: str = ""
    netmask: str = ""
    super_device: str = ""


class Machine(msgspec.Struct, frozen=True):
    """One machine, with its cards in the order of their ranks."""

    name: str
    address: str
    cards: tuple[Card, ...]
    super_pod: str = "0"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster that can work. ``notes``: what is allowed, and still worth a look."""

    product: ClusterProduct
    machines: tuple[Machine, ...]
    gateway: str
    tls: int
    rank_table: bool
    notes: tuple[str, ...]

    @property
    def world_size(self) -> int:
        """Ranks in all."""
        return sum(len(machine.cards) for machine in self.machines)


def plan(file: HostsFile) -> Plan:
    """The plan for a file of machines: addresses that are given are kept, the others are chosen.

    Raises:
        NpuifyError: the machines or addresses cannot work together; it says why, and the row.
    """
    content = file.content
    try:
        product = cluster_product(content.product)
    except NpuifyError as error:
        raise file.error(error.message, "product", advice=error.advice) from error
    if not content.hosts:
        raise file.error("no machine is listed", "hosts")
    _machines(file)
    notes: list[str] = []
    numbers = [_cards(file, product, index, host) for index, host in enumerate(content.hosts)]
    _same_cards(file, product, numbers, notes)
    addresses = _addresses(file, product, numbers, notes)
    machines = []
    rank = 0
    for index, host in enumerate(content.hosts):
        super_devices = _super_devices(file, product, index, host, numbers[index])
        cards = []
        for position, number in enumerate(numbers[index]):
            given = addresses.get((index, number))
            cards.append(
                Card(
                    number,
                    rank,
                    str(given[0]) if given else "",
                    str(given[1].netmask) if given and given[1] is not None else "",
                    super_devices[position] if super_devices else "",
                )
            )
            rank += 1
        machines.append(Machine(host.name, host.address, tuple(cards), str(host.super_pod)))
    _apart(file, machines)
    if content.rank_table:
        _table_complete(file, product, machines)
    return Plan(
        product=product,
        machines=tuple(machines),
        gateway=content.gateway or "",
        tls=content.tls,
        rank_table=content.rank_table,
        notes=tuple(notes),
    )


def _machines(file: HostsFile) -> None:
    names: dict[str, int] = {}
    addresses: dict[Address, int] = {}
    for index, host in enumerate(file.content.hosts):
        if not host.name or len(host.name) >= 64 or not all(c.isalnum() or c in "._-" for c in host.name):
            raise file.error(
                phrase("{name!r} is not a machine name: letters, digits, dots and dashes, up to 63", name=host.name),
                "hosts",
                index,
                "name",
            )
        if host.name in names:
            raise file.error(phrase("two machines are called {name}", name=host.name), "hosts", index, "name")
        address = read_address(file, host.address, "hosts", index, "address")
        if address.is_loopback and len(file.content.hosts) > 1:
            raise file.error(
                phrase(
                    "{address} refers to each machine itself: the others cannot reach {name} there",
                    address=address,
                    name=host.name,
                ),
                "hosts",
                index,
                "address",
            )
        if address in addresses:
            other = file.content.hosts[addresses[address]].name
            raise file.error(
                phrase("{name} has the address {address} of {other}", name=host.name, address=address, other=other),
                "hosts",
                index,
                "address",
            )
        names[host.name], addresses[address] = index, index


def _cards(file: HostsFile, product: ClusterProduct, index: int, host: Host) -> tuple[int, ...]:
    if host.cards is None:
        return tuple(range(product.cards))
    where = ("hosts", index, "cards")
    cards = host.cards
    if not cards:
        raise file.error(phrase("{name} lists no cards", name=host.name), *where)
    for position, card in enumerate(cards):
        if not 0 <= card < product.cards:
            raise file.error(
                phrase(
                    "{name} has no card {card}: on {title} they are numbered 0 to {value}",
                    name=host.name,
                    card=card,
                    title=product.title,
                    value=product.cards - 1,
                ),
                *where,
                position,
            )
        if card in cards[:position]:
            raise file.error(
                phrase("card {card} of {name} is listed twice", card=card, name=host.name), *where, position
            )
    if list(cards) != sorted(cards):
        raise file.error(
            phrase("the cards of {name} are not in ascending order, as programs see them", name=host.name), *where
        )
    if product.counts and len(cards) not in product.counts:
        counts = ", ".join(map(str, product.counts))
        raise file.error(
            phrase(
                "{name} lists {number} cards: on {title} {counts} per machine can take part",
                name=host.name,
                number=len(cards),
                title=product.title,
                counts=counts,
            ),
            *where,
        )
    halves = {card // (product.cards // 2) for card in cards}
    if product.halves and len(cards) < product.cards and len(halves) > 1:
        raise file.error(
            phrase(
                "the cards {map} of {name} are in both halves: {number} cards must all be among 0 to "
                "3, or all among 4 to 7, which are separate networks inside the machine",
                map=commas(map(str, cards)),
                name=host.name,
                number=len(cards),
            ),
            *where,
        )
    return cards


def _same_cards(file: HostsFile, product: ClusterProduct, numbers: list[tuple[int, ...]], notes: list[str]) -> None:
    for index, cards in enumerate(numbers):
        host = file.content.hosts[index]
        if product.equal and len(cards) != len(numbers[0]):
            raise file.error(
                phrase(
                    "{name} lists {number} cards and {name2} {number2}: every machine must list the same number",
                    name=host.name,
                    number=len(cards),
                    name2=file.content.hosts[0].name,
                    number2=len(numbers[0]),
                ),
                "hosts",
                index,
                "cards",
            )
        if cards != numbers[0]:
            first = file.content.hosts[0].name
            notes.append(
                phrase(
                    "{name} lists other cards than {first}; collectives are faster with cards in the same positions",
                    name=host.name,
                    first=first,
                )
            )


def _addresses(
    file: HostsFile, product: ClusterProduct, numbers: list[tuple[int, ...]], notes: list[str]
) -> dict[tuple[int, int], tuple[Address, Network | None]]:
    """Address and subnet of each card, by machine and card."""
    nets = card_networks(file, product)
    gateway = read_address(file, file.content.gateway, "gateway") if file.content.gateway else None
    taken: dict[Address, str] = {
        ipaddress.IPv4Address(host.address): f"{host.name} itself" for host in file.content.hosts
    }
    if gateway is not None:
        taken[gateway] = "the gateway"
    found: dict[tuple[int, int], tuple[Address, Network | None]] = {}
    for index, host in enumerate(file.content.hosts):
        if host.device_addresses and len(host.device_addresses) != len(numbers[index]):
            raise file.error(
                phrase(
                    "{name} has {number} device addresses for {number2} cards",
                    name=host.name,
                    number=len(host.device_addresses),
                    number2=len(numbers[index]),
                ),
                "hosts",
                index,
                "device_addresses",
            )
        for position, text in enumerate(host.device_addresses):
            where = ("hosts", index, "device_addresses", position)
            card = numbers[index][position]
            address = read_address(file, text, *where)
            if address in taken:
                raise file.error(
                    phrase(
                        "card {card} of {name} has the address {address}, as {taken} has",
                        card=card,
                        name=host.name,
                        address=address,
                        taken=taken[address],
                    ),
                    *where,
                )
            net = nets.of(card, address, *where)
            taken[address] = phrase("card {card} of {name}", card=card, name=host.name)
            found[index, card] = address, net
    for index, host in enumerate(file.content.hosts):
        for card in numbers[index] if product.subnets and not host.device_addresses else ():
            chosen, net = nets.choose(card, taken, "hosts", index)
            taken[chosen] = phrase("card {card} of {name}", card=card, name=host.name)
            found[index, card] = chosen, net
    nets.fit_together(found, gateway, notes)
    for host in file.content.hosts:
        inside = next((net for net in nets.all if ipaddress.ip_address(host.address) in net), None)
        if inside is not None:
            notes.append(
                phrase(
                    "{name} itself is in {inside}, the cards' network; it is better to keep them separate",
                    name=host.name,
                    inside=inside,
                )
            )
    return found


def _super_devices(
    file: HostsFile, product: ClusterProduct, index: int, host: Host, numbers: tuple[int, ...]
) -> tuple[str, ...]:
    where = ("hosts", index, "super_devices")
    if not host.super_devices:
        return ()
    if product.table != "1.2":
        raise file.error(phrase("{title} has no super devices", title=product.title), *where)
    if len(host.super_devices) != len(numbers):
        raise file.error(
            phrase(
                "{name} has {number} super devices for {number2} cards",
                name=host.name,
                number=len(host.super_devices),
                number2=len(numbers),
            ),
            *where,
        )
    devices = tuple(map(str, host.super_devices))
    for position, device in enumerate(devices):
        if device in devices[:position]:
            raise file.error(
                phrase("the super device {device} of {name} is listed twice", device=device, name=host.name),
                *where,
                position,
            )
    return devices


def _apart(file: HostsFile, machines: list[Machine]) -> None:
    """Super devices of one pod differ."""
    seen: dict[tuple[str, str], str] = {}
    for index, machine in enumerate(machines):
        for position, card in enumerate(machine.cards):
            key = (machine.super_pod, card.super_device)
            if card.super_device and key in seen:
                raise file.error(
                    phrase(
                        "{name} has the super device {super_device} of {seen}, in the same super pod",
                        name=machine.name,
                        super_device=card.super_device,
                        seen=seen[key],
                    ),
                    "hosts",
                    index,
                    "super_devices",
                    position,
                )
            seen[key] = machine.name


def _table_complete(file: HostsFile, product: ClusterProduct, machines: list[Machine]) -> None:
    for index, machine in enumerate(machines):
        if product.table == "1.2" and not all(card.super_device for card in machine.cards):
            raise file.error(
                phrase(
                    "a rank table of {title} needs the super_devices of {name}", title=product.title, name=machine.name
                ),
                "hosts",
                index,
                advice="npu-smi info -t spod-info -i N -c C shows each as SDID; PyTorch needs no rank table",
            )
