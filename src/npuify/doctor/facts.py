"""Everything that the probes found, together: what the checks judge."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from npuify.knowledge.machine.drivers import Chip, chip

from .probes import cann, driver, hccl, host, npu_smi, python

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .machine import Sight


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """One machine."""

    smi: npu_smi.NpuSmi
    smi_answered: bool
    """Whether there is an ``npu-smi`` at all."""
    chip: Chip | None
    """The generation of most of its cards."""
    driver: driver.Driver
    cann: cann.CannFacts
    host: host.Host
    python: python.Python
    hccl: hccl.Hccl
    mounts: dict[str, bool]
    """What a container needs from its host, by path: whether it is there."""
    environment: Mapping[str, str]
    network: bool
    """Whether the shell is set up for several machines."""
    files_only: bool = False
    """Whether nothing but files is known of the machine: no shell, and no commands."""
    files_known: bool = True
    """Whether what was given holds files at all: an empty capture says nothing of what is installed."""
    tensorflow: str = ""
    """Of a project on TensorFlow: its line, ``1`` or ``2``, or ``either`` where that is open; else empty."""
    vllm: bool = False
    """Whether the project uses vLLM, whose plug-in decides torch and torch_npu: ``project.vllm`` judges these."""
    paddle: str = ""
    """Of a project on PaddlePaddle: the version that it requires, or ``any``; else empty."""


CONTAINER_NEEDS = ("/usr/local/dcmi", "/usr/local/bin/npu-smi", "/usr/local/sbin/npu-smi", "/etc/ascend_install.info")


def gather(machine: Sight, python_program: str | None = None, *, live: bool = True, files_only: bool = False) -> Facts:
    """Ask ``machine`` everything once.

    Args:
        python_program: the interpreter to judge; None for the one that runs npuify.
        live: ``machine`` is this one, so that this interpreter may be asked; False for captures.
        files_only: ``machine`` is a folder, such as a container image: it has no shell and runs nothing.
    """
    answer = machine.run("npu-smi info", ["npu-smi", "info"])
    the_host = host.read(machine)
    smi = npu_smi.numbered(npu_smi.parse(answer.text), the_host.davinci())
    kinds = Counter(
        kind.product for card in smi.cards if (kind := chip(card.name, has_ddr=card.ddr_total > 0)) is not None
    )
    product = kinds.most_common(1)[0][0] if kinds else ""
    found = [chip(card.name, has_ddr=card.ddr_total > 0) for card in smi.cards]
    cards = tuple(card.physical for card in smi.cards) or the_host.davinci()
    the_hccl = hccl.read(machine, cards)
    return Facts(
        smi=smi,
        smi_answered=not answer.missing,
        chip=next((one for one in found if one is not None and one.product == product), None),
        driver=driver.read(machine),
        cann=cann.read(machine, files_only=files_only),
        host=the_host,
        python=python.read(machine, python_program, live=live),
        hccl=the_hccl,
        mounts={path: machine.node(path) is not None for path in CONTAINER_NEEDS},
        environment=machine.environment,
        network=_several_machines(machine.environment, the_hccl),
        files_only=files_only,
        files_known=machine.has_files,
    )


def _several_machines(environment: Mapping[str, str], found: hccl.Hccl) -> bool:
    if found.rank_table is not None and found.rank_table.servers > 1:
        return True
    address = environment.get("MASTER_ADDR", "")
    return bool(address) and address not in {"localhost", "127.0.0.1", "::1", environment.get("HOSTNAME", "")}
