"""What is known of starting programs on many cards: launchers, the environment they need, and the cards' network."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal

import msgspec
from packaging.version import InvalidVersion, Version

from npuify.knowledge.hand_written import DATA, read_rows
from npuify.language import commas, phrase
from npuify.model import Evidence, NpuifyError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Launcher(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A row of ``launchers.toml``; its head says what the fields mean."""

    name: str
    module: str
    title: str
    message: str
    evidence: Evidence
    source: str
    filter_since: str = ""
    without: tuple[str, ...] = ()
    rewrites_env: tuple[str, ...] = ()


class EnvironmentSetting(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A row of ``launch_environment.toml``; its head says what the fields mean."""

    name: str
    when: Literal["always", "nodes", "offered", "unset"]
    value: str
    message: str
    evidence: Evidence
    source: str
    cann_since: str = ""
    cann_until: str = ""

    def holds(self, cann: str) -> bool:
        """Whether the row is about that CANN, such as ``9.1.0`` or ``8.3.RC1``; an unknown one counts as a new one."""
        version = _minor(cann)
        if version is None:
            return not self.cann_until
        since, until = _minor(self.cann_since), _minor(self.cann_until)
        return (since is None or since <= version) and (until is None or version <= until)


class ClusterProduct(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A row of ``clusters.toml``; its head says what the fields mean."""

    name: str
    title: str
    cards: int
    counts: tuple[int, ...]
    halves: bool
    subnets: int
    table: Literal["1.0", "1.2"]
    port: str
    address_needed: Literal["always", "nodes", "never"]
    equal: bool
    message: str
    evidence: Evidence
    source: str


class NetworkCheck(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A row of ``cluster_checks.toml``; its head says what the fields mean."""

    name: str
    command: str
    good: str
    message: str
    evidence: Evidence
    source: str
    per_peer: bool = False
    products: tuple[str, ...] = ()


class KernelSetting(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A row of ``kernel_settings.toml``."""

    name: str
    value: str
    message: str
    evidence: Evidence
    source: str


class ContainerOption(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A row of ``container.toml``; its head says what the fields mean."""

    option: str
    message: str
    evidence: Evidence
    source: str
    own_network: bool = False


@cache
def launchers() -> Mapping[str, Launcher]:
    """The ways to start a program, by name."""
    return {row.name: row for row in read_rows(DATA / "launchers.toml", "launcher", Launcher)}


@cache
def environment_settings() -> tuple[EnvironmentSetting, ...]:
    """What an environment script is about, in order."""
    return tuple(read_rows(DATA / "launch_environment.toml", "setting", EnvironmentSetting))


@cache
def cluster_products() -> Mapping[str, ClusterProduct]:
    """How the network is laid out, by the name of the product."""
    return {row.name: row for row in read_rows(DATA / "clusters.toml", "product", ClusterProduct)}


def cluster_product(name: str) -> ClusterProduct:
    """The layout for a product, or for a chip of it: ``A2``, ``910B3``, ``Ascend910A``.

    Raises:
        NpuifyError: no chip is called so, or nothing is known of its network.
    """
    from .chips import product

    family = product(name).name
    try:
        return cluster_products()[family]
    except KeyError:
        raise NpuifyError(
            phrase("nothing is known of how to lay out the network of {name}", name=name),
            advice=phrase("known: {names}", names=commas(cluster_products())),
        ) from None


@cache
def network_checks() -> tuple[NetworkCheck, ...]:
    """What is asked of the cards' network, in order."""
    return tuple(read_rows(DATA / "cluster_checks.toml", "check", NetworkCheck))


@cache
def kernel_settings() -> tuple[KernelSetting, ...]:
    """What is set in the kernel of each machine."""
    return tuple(read_rows(DATA / "kernel_settings.toml", "kernel", KernelSetting))


@cache
def container_options() -> tuple[ContainerOption, ...]:
    """What a container needs of its host, in order."""
    return tuple(read_rows(DATA / "container.toml", "option", ContainerOption))


def _minor(version: str) -> tuple[int, int] | None:
    try:
        parsed = Version(version.replace(".RC", "rc"))
    except InvalidVersion:
        return None
    return parsed.major, parsed.minor
