"""What is to be started: a program, on how many cards of how many machines, by which launcher."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from npuify.knowledge.machine.launching import cluster_products, kernel_settings, launchers
from npuify.language import commas, phrase
from npuify.model import NpuifyError, Release

if TYPE_CHECKING:
    from collections.abc import Sequence

METHODS: Final = ("torchrun", "shell", "spawn", "launch", "torch_npu_run", "tensorflow", "vllm")
LARGEST: Final = 64
"""Cards of one machine."""
_MARKS: Final = (".git", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "npuify-report")
"""What lies in the uppermost folder of a project, or of a migrated copy."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One program on many cards. Paths are absolute."""

    entry: str
    """A file, relative to ``folder`` where it lies below it, or a module; of vLLM's services the model."""
    folder: str
    """Where the program runs."""
    method: str
    release: Release
    arguments: tuple[str, ...] = ()
    module: bool = False
    cards: int | None = None
    """Of each machine; None: all that the machine has, counted when the script runs."""
    nodes: int = 1
    master: str = "127.0.0.1"
    """Host name or address of the first machine."""
    port: int = 29500
    visible: tuple[tuple[int, ...], ...] = ()
    """Numbers of the cards that take part, by machine; empty: the first ones of each."""

    @property
    def file(self) -> Path | None:
        """The program's file; None where a module's cannot be told."""
        if self.method == "vllm":
            return None
        if not self.module:
            return Path(self.folder, self.entry)
        base = Path(self.folder, *self.entry.split("."))
        return next((one for one in (base.with_suffix(".py"), base / "__main__.py") if one.is_file()), None)


def job(
    entry: str,
    *,
    method: str,
    release: Release,
    arguments: Sequence[str] = (),
    module: bool = False,
    cards: int | None = None,
    nodes: int = 1,
    master: str = "",
    port: int = 29500,
    soc: str = "",
    folder: Path | None = None,
    output: Path | None = None,
    visible: tuple[tuple[int, ...], ...] = (),
) -> Job:
    """A job, once it is sure that it can be started.

    Args:
        entry: the program's file, as a person names it here, or (``module``) a module.
        method: one of ``METHODS``.
        cards: of each machine, 1 to 64; None leaves it to the machine.
        nodes: how many machines.
        master: name or address of the first machine; needed where there are several.
        port: of the first machine, where ranks meet; free there.
        soc: the chip, to hold ``cards`` against what its network allows; empty: not checked.
        folder: where the program runs; the current folder unless given, or the project's where ``output`` lies in it.
        output: where the scripts are written; None: not known.
        visible: numbers of the cards that take part, by machine; empty: the first ones of each.

    Raises:
        NpuifyError: something does not fit; it says what and why.
    """
    if method not in METHODS:
        raise NpuifyError(
            phrase("unknown launch method {method!r}", method=method),
            advice=phrase("one of {METHODS}", METHODS=commas(METHODS)),
        )
    if release.torch_npu in launchers()[method].without:
        raise NpuifyError(
            phrase("torch_npu {torch_npu} does not include {method}", torch_npu=release.torch_npu, method=method),
            advice="choose another --method, or another release",
        )
    if nodes < 1:
        raise NpuifyError(phrase("--nodes {nodes}: at least one machine is needed", nodes=nodes))
    if nodes > 1 and not master:
        raise NpuifyError("several machines need --master, the first one's host name or address")
    _check_cards(cards, nodes, soc)
    _check_port(port)
    _check_host(master or "127.0.0.1")
    where = (folder or Path.cwd()).resolve()
    if not where.is_dir():
        raise NpuifyError("no such folder to run in", file=str(folder))
    if folder is None and output is not None and not module and method != "vllm":
        where = _project(Path(entry).resolve(), output.resolve(), where, arguments)
    return Job(
        entry=entry if module or method == "vllm" else _entry(Path(entry), where),
        folder=str(where),
        method=method,
        release=release,
        arguments=tuple(arguments),
        module=module,
        cards=cards,
        nodes=nodes,
        master=master or "127.0.0.1",
        port=port,
        visible=visible,
    )


def _project(entry: Path, output: Path, here: Path, arguments: Sequence[str]) -> Path:
    """The project below ``here`` that holds both program and scripts, so that its folder can be moved and renamed.

    It is the lowest folder above the program that looks like a project; where none does, the folder beside which the
    scripts or the program lie. Where arguments name files from ``here``, the program goes on running there.
    """
    if any(Path(here, value).exists() for word in arguments if "/" in (value := word.rpartition("=")[2])):
        return here
    below = [one for one in entry.parents if here in one.parents]
    marked = [one for one in below if any((one / name).exists() for name in _MARKS)]
    projects = marked or [one for one in below if one in (entry.parent, output.parent)]
    return next((one for one in projects if one in output.parents), here)


def _entry(entry: Path, folder: Path) -> str:
    if not entry.is_file():
        raise NpuifyError("no such file", advice="specify the program as you would start it", file=str(entry))
    path = entry.resolve()
    return path.relative_to(folder).as_posix() if folder in path.parents else str(path)


def _check_cards(cards: int | None, nodes: int, soc: str) -> None:
    if cards is not None and not 1 <= cards <= LARGEST:
        raise NpuifyError(phrase("--cards {cards}: a machine has 1 to {LARGEST} cards", cards=cards, LARGEST=LARGEST))
    if not soc or cards is None:
        return
    from npuify.knowledge import product

    layout = cluster_products().get(product(soc).name)
    if layout is None:
        return
    if cards > layout.cards:
        raise NpuifyError(
            phrase(
                "--cards {cards}: a machine with {title} has {cards2}",
                cards=cards,
                title=layout.title,
                cards2=layout.cards,
            )
        )
    if layout.counts and cards not in layout.counts:
        raise NpuifyError(
            phrase(
                "--cards {cards}: on {title} {map} cards per machine can take part",
                cards=cards,
                title=layout.title,
                map=commas(map(str, layout.counts)),
            ),
            advice=layout.message if nodes > 1 else "",
        )


def _check_port(port: int) -> None:
    if not 1024 <= port <= 65535:
        raise NpuifyError(phrase("--port {port}: use one from 1024 to 65535", port=port))
    reserved = next(row.value for row in kernel_settings() if row.name.endswith("ip_local_reserved_ports"))
    first, last = map(int, reserved.split("-"))
    if first <= port <= last:
        raise NpuifyError(
            phrase("--port {port}: HCCL itself listens on {first} to {last}", port=port, first=first, last=last),
            advice="choose another, such as 29500",
        )


def _check_host(host: str) -> None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        if re.fullmatch(r"(?=.{1,253}$)(?!-)[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?", host) is None:
            raise NpuifyError(phrase("--master {host!r} is neither a host name nor an address", host=host)) from None
        if re.fullmatch(r"[\d.]+", host):
            raise NpuifyError(phrase("--master {host} is no address", host=host)) from None
        return
    if address.is_unspecified or address.is_multicast:
        raise NpuifyError(phrase("--master {host} is not the address of a machine", host=host))
