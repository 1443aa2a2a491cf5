"""The file of machines that ``--cluster`` names, with the rows in which things stand."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import msgspec
import yaml

from npuify.language import phrase
from npuify.model import NpuifyError

if TYPE_CHECKING:
    from pathlib import Path

    Path_ = tuple[str | int, ...]


class Host(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One machine."""

    name: str
    address: str
    """By which the other machines reach it."""
    cards: tuple[int, ...] | None = None
    """Numbers of its cards that take part; None: all that the product has."""
    device_addresses: tuple[str, ...] = ()
    """Network addresses of these cards, in their order; planned where they are not given."""
    super_pod: str | int = "0"
    """Of an Atlas A3: the super pod that it belongs to."""
    super_devices: tuple[str | int, ...] = ()
    """Of an Atlas A3: the SDID of each card, as ``npu-smi info -t spod-info`` gives it."""


class Hosts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The machines of a cluster."""

    product: str
    hosts: tuple[Host, ...]
    network: str | None = None
    """The subnet of all cards (of the first 910: one to be cut in four), such as ``10.20.0.0/24``."""
    networks: tuple[str, ...] = ()
    """Of the first 910: the subnets of cards 0 and 4, 1 and 5, 2 and 6, 3 and 7."""
    netmask: str | None = None
    """Where all addresses are given, and no network."""
    gateway: str | None = None
    tls: Literal[0, 1] = 0
    """Whether the cards talk by TLS; the same on all."""
    rank_table: bool = False


class HostsFile:
    """A file of machines.

    Args:
        path: a YAML file; ``Hosts`` says what it holds.

    Raises:
        NpuifyError: it cannot be read, is not YAML, or holds something else; the row is named.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines: dict[Path_, int] = {}
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise NpuifyError(phrase("cannot be read: {error}", error=error), file=str(path)) from error
        loader = yaml.SafeLoader(text)
        try:
            root = loader.get_single_node()
            if root is not None:
                self._walk(root, ())
            data = loader.construct_document(root) if root is not None else None
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark
            raise NpuifyError(
                phrase("is not YAML: {problem}", problem=error.problem),
                file=str(path),
                line=mark.line + 1 if mark is not None else 0,
            ) from error
        except (yaml.YAMLError, RecursionError) as error:
            raise NpuifyError(phrase("is not YAML: {error}", error=error), file=str(path)) from error
        finally:
            loader.dispose()
        if not isinstance(data, dict):
            raise NpuifyError(
                "contains no machines", advice="it needs product: and hosts:; see docs/launch.md", file=str(path)
            )
        try:
            self.content = msgspec.convert(data, Hosts, strict=True)
        except msgspec.ValidationError as error:
            message, _, place = str(error).partition(" - at `$")
            where = tuple(
                int(part[1:-1]) if part.startswith("[") else part[1:] for part in re.findall(r"\[\d+\]|\.\w+", place)
            )
            raise self.error(message.replace("Object", "the entry"), *where) from error

    def _walk(self, node: yaml.Node, path: Path_) -> None:
        self._lines[path] = node.start_mark.line + 1
        if isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, value in node.value:
                name = str(getattr(key, "value", ""))
                if name in seen:
                    raise NpuifyError(
                        phrase("{name} is listed twice", name=name), file=str(self.path), line=key.start_mark.line + 1
                    )
                seen.add(name)
                inner = (*path, name)
                self._walk(value, inner)
                self._lines[inner] = key.start_mark.line + 1
        elif isinstance(node, yaml.SequenceNode):
            for index, value in enumerate(node.value):
                self._walk(value, (*path, index))

    def error(self, message: str, *where: str | int, advice: str = "") -> NpuifyError:
        """A refusal that names the row of ``where``, such as ``"hosts", 1, "cards"``, or else of what is around it."""
        while where and where not in self._lines:
            where = where[:-1]
        return NpuifyError(message, advice=advice, file=str(self.path), line=self._lines.get(where, 0))
