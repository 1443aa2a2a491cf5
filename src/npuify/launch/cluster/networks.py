"""The subnets of the cards, and which address may stand where."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from npuify.knowledge.machine.launching import ClusterProduct
    from npuify.launch.cluster.hosts import HostsFile

Address = ipaddress.IPv4Address
Network = ipaddress.IPv4Network


def read_address(file: HostsFile, text: str, *where: str | int) -> Address:
    """An address of a machine or a card.

    Raises:
        NpuifyError: it is none, or one that no machine can have.
    """
    try:
        address = ipaddress.IPv4Address(text)
    except ValueError as error:
        raise file.error(phrase("{text!r} is not an IPv4 address: {error}", text=text, error=error), *where) from None
    if address.is_multicast or address.is_unspecified or address.is_reserved or address.is_link_local:
        raise file.error(phrase("{text} cannot be the address of a machine or card", text=text), *where)
    return address


def card_networks(file: HostsFile, product: ClusterProduct) -> CardNetworks:
    """The subnets that the file gives for the cards of ``product``.

    Raises:
        NpuifyError: they are malformed, overlap, are not as many as the product needs, or should not be given at all.
    """
    content = file.content
    texts = content.networks or ((content.network,) if content.network is not None else ())
    key = "networks" if content.networks else "network"
    if content.network is not None and content.networks:
        raise file.error("either network or networks, not both", "networks")
    if product.subnets == 0:
        if texts:
            raise file.error(
                phrase("{title}: the cards' addresses are preset, so none are planned", title=product.title), key
            )
        return CardNetworks(file, product, (), None)
    nets = tuple(_network(file, text, key, *([index] if content.networks else [])) for index, text in enumerate(texts))
    if len(nets) == 1 and product.subnets > 1:
        bits = product.subnets.bit_length() - 1
        if nets[0].prefixlen + bits > 30:
            raise file.error(
                phrase("{nets} is too small to be split into {subnets} subnets", nets=nets[0], subnets=product.subnets),
                key,
            )
        nets = tuple(nets[0].subnets(prefixlen_diff=bits))
    if nets and len(nets) != product.subnets:
        raise file.error(
            phrase(
                "{title} needs {subnets} subnets, and {number} are given",
                title=product.title,
                subnets=product.subnets,
                number=len(nets),
            ),
            key,
            advice=product.message,
        )
    for index, net in enumerate(nets):
        for other in nets[:index]:
            if net.overlaps(other):
                raise file.error(
                    phrase("the subnets {other} and {net} overlap", other=other, net=net),
                    key,
                    index,
                    advice=product.message,
                )
    mask = None
    if not nets:
        if not all(host.device_addresses for host in content.hosts):
            example = "192.168.100.0/22, which is split in four" if product.subnets > 1 else "10.20.0.0/24"
            raise file.error(
                "the cards' network is not given",
                "product",
                advice=phrase("for example network: {example}", example=example),
            )
        if content.netmask is None:
            raise file.error(
                "the netmask of the device addresses is not given", "product", advice="netmask: 255.255.255.0"
            )
    if content.netmask is not None:
        mask = _mask(file, content.netmask)
        for net in nets:
            if net.prefixlen != mask:
                raise file.error(
                    phrase("the netmask {netmask} does not match {net}", netmask=content.netmask, net=net), "netmask"
                )
    return CardNetworks(file, product, nets, mask)


class CardNetworks:
    """Which card belongs to which subnet.

    Args:
        nets: by position modulo their number; empty where only addresses are given.
        mask: length of the prefix, where there are no ``nets``.
    """

    def __init__(self, file: HostsFile, product: ClusterProduct, nets: tuple[Network, ...], mask: int | None) -> None:
        self._file = file
        self._product = product
        self._mask = mask
        self.all = nets

    def of(self, card: int, address: Address, *where: str | int) -> Network | None:
        """The subnet of a card that has ``address``; None where the product's addresses are preset.

        Raises:
            NpuifyError: the address lies in another subnet, or is none that a card can have there.
        """
        if self._product.subnets == 0:
            return None
        if self.all:
            net = self.all[card % len(self.all)]
            if address not in net:
                raise self._file.error(
                    phrase("the address {address} of card {card} is not in {net}", address=address, card=card, net=net),
                    *where,
                    advice=self._product.message,
                )
        else:
            net = ipaddress.IPv4Network((int(address), self._mask or 24), strict=False)
        if address in (net.network_address, net.broadcast_address):
            kind = "network" if address == net.network_address else "broadcast"
            raise self._file.error(
                phrase("{address} is the {kind} address of {net}", address=address, kind=kind, net=net), *where
            )
        return net

    def choose(self, card: int, taken: Mapping[Address, str], *where: str | int) -> tuple[Address, Network]:
        """A free address for a card: the lowest of its subnet.

        Raises:
            NpuifyError: there is none left.
        """
        if not self.all:
            raise self._file.error("the cards' network is not given", *where, "name")
        net = self.all[card % len(self.all)]
        address = next((one for one in net.hosts() if one not in taken), None)
        if address is None:
            raise self._file.error(
                phrase("{net} is too small: no address is left for card {card}", net=net, card=card),
                "networks" if self._file.content.networks else "network",
            )
        return address, net

    def fit_together(
        self, found: Mapping[tuple[int, int], tuple[Address, Network | None]], gateway: Address | None, notes: list[str]
    ) -> None:
        """Hold addresses whose subnets come from a netmask against the product's layout.

        Raises:
            NpuifyError: cards that should share a subnet do not, or the other way round.
        """
        count = self._product.subnets
        if not count:
            return
        by_position: dict[tuple[int, int], tuple[Network, int]] = {}
        for (machine, card), (_, net) in found.items():
            if net is None:
                continue
            scope = -1 if count > 1 or gateway is None else machine
            known, other = by_position.setdefault((scope, card % count), (net, card))
            if known != net:
                raise self._file.error(
                    phrase(
                        "card {card} is in {net}, but card {other}, which must share its subnet, is in {known}",
                        card=card,
                        net=net,
                        other=other,
                        known=known,
                    ),
                    "hosts",
                    machine,
                    "device_addresses",
                    advice=self._product.message
                    + ("" if count > 1 else " Machines in different subnets need a gateway: specify gateway."),
                )
        if count > 1:
            seen: dict[Network, int] = {}
            for (_, position), (net, _) in sorted(by_position.items(), key=lambda item: item[0]):
                if net in seen:
                    raise self._file.error(
                        phrase(
                            "cards at the positions {seen} and {position} share the subnet {net}",
                            seen=seen[net],
                            position=position,
                            net=net,
                        ),
                        "hosts",
                        0,
                        "device_addresses",
                        advice=self._product.message,
                    )
                seen[net] = position
        nets = {net for _, net in found.values() if net is not None}
        if gateway is not None and not any(gateway in net for net in nets):
            raise self._file.error(
                phrase("the gateway {gateway} is in none of the cards' subnets", gateway=gateway), "gateway"
            )
        if count == 1 and len(nets) > 1:
            notes.append("the machines' cards are in different subnets, which the gateway must connect")


def _network(file: HostsFile, text: str, *where: str | int) -> Network:
    try:
        net = ipaddress.IPv4Network(text, strict=False)
    except ValueError as error:
        raise file.error(phrase("{text!r} is not a network: {error}", text=text, error=error), *where) from None
    if "/" not in text:
        raise file.error(
            phrase("{text} has no prefix length", text=text),
            *where,
            advice=phrase("for example {network_address}/24", network_address=net.network_address),
        )
    if str(ipaddress.IPv4Interface(text).ip) != str(net.network_address):
        raise file.error(
            phrase("{text} is an address inside {net}", text=text, net=net),
            *where,
            advice=phrase("write {net}", net=net),
        )
    if net.is_multicast or net.is_loopback or net.is_link_local or net.is_unspecified or net.is_reserved:
        raise file.error(phrase("{text} cannot be a network of cards", text=text), *where)
    if net.prefixlen > 30:
        raise file.error(phrase("{text} has no room for two cards", text=text), *where)
    return net


def _mask(file: HostsFile, text: str) -> int:
    try:
        length = ipaddress.IPv4Network(f"0.0.0.0/{text}").prefixlen
        if str(ipaddress.IPv4Network(f"0.0.0.0/{length}").netmask) != text:
            raise ValueError(text)
    except ValueError:
        raise file.error(
            phrase("{text!r} is not a netmask", text=text), "netmask", advice="for example 255.255.255.0"
        ) from None
    if not 8 <= length <= 30:
        raise file.error(phrase("the netmask {text} leaves no usable network", text=text), "netmask")
    return length
