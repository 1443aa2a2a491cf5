"""From a CUDA name to the NPU name of one release.

A candidate may be found by replacing ``cuda``, but it is taken only if the release's table holds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from npuify.knowledge.release.names import npu_module_name
from npuify.knowledge.schema import Counterpart, Meaning, Signature, Status
from npuify.language import phrase
from npuify.model import Evidence

if TYPE_CHECKING:
    from collections.abc import Callable

    from npuify.knowledge.release.names import ReleaseNames

    CounterpartOf = Callable[[str], Counterpart | None]

_DEVICE_NEUTRAL = ("torch.amp", "torch.accelerator")
"""Modules of torch that take the device as an argument, and stay as they are."""


def find_counterpart(
    table: ReleaseNames, name: str, meaning: Meaning | None, counterpart_of: CounterpartOf
) -> Counterpart | None:
    """The counterpart of ``name`` on the release of ``table``; None: nothing knows the name.

    Args:
        meaning: the hand-written row for the name.
        counterpart_of: answers the same for the modules and classes that hold it.
    """
    if meaning is None and not table.has_cuda(name):
        return None
    npu = _npu_name(table, name, meaning, counterpart_of)
    if npu is None and meaning is None:
        meaning = _meaning_of_what_holds_it(name, counterpart_of)
    evidence, source = _known(table, npu, meaning)
    differences = _compare(table.signature(name), table.signature(npu)) if npu else _Differences()
    status: Status
    if npu is None:
        status = "missing"
    elif any(differences) or (meaning is not None and meaning.effect != "renamed"):
        status = "changed"
    elif name != "torch.cuda" and name.rpartition(".")[2] != npu.rpartition(".")[2]:
        status = "renamed"
    else:
        status = "same"
    return Counterpart(
        cuda=name,
        npu=npu,
        npu_import=_import_path(table, npu) if npu else None,
        status=status,
        missing_parameters=differences.missing,
        meaning=meaning,
        evidence=evidence,
        source=source,
        message=meaning.message if meaning else _describe(table, name, npu, differences.missing),
        renamed_parameters=(*differences.renamed, *(meaning.renamed_parameters if meaning else ())),
        moved_parameters=differences.moved,
    )


def claim_of(row: Meaning) -> str:
    """The claim of ``npuify selftest`` that asks whether a row holds."""
    return f"behaviour/{row.cuda} {row.effect}"


def _known(table: ReleaseNames, npu: str | None, meaning: Meaning | None) -> tuple[Evidence, str]:
    """How a counterpart is known, and from where."""
    claim = claim_of(meaning) if meaning is not None else f"names/{npu_module_name(npu)}" if npu else ""
    machine = table.hardware.seen_on(claim)
    if machine:
        return Evidence.HARDWARE, phrase("seen on {machine}", machine=machine)
    if meaning is not None:
        return meaning.evidence, meaning.source
    return table.evidence(npu or "torch_npu.npu"), _source(table, npu)


def _source(table: ReleaseNames, npu: str | None) -> str:
    if table.evidence(npu or "torch_npu.npu") is Evidence.LIVE:
        return phrase("torch-npu {torch_npu}, imported without CANN", torch_npu=table.torch_npu)
    return phrase("torch-npu {torch_npu} and torch {torch}, their wheels", torch_npu=table.torch_npu, torch=table.torch)


def _npu_name(table: ReleaseNames, name: str, meaning: Meaning | None, counterpart_of: CounterpartOf) -> str | None:
    if meaning is not None and meaning.npu is not None:
        return meaning.npu or None
    if name == "torch.cuda":
        return "torch.npu"
    if name.startswith(tuple(f"{m}." for m in _DEVICE_NEUTRAL)) or name in _DEVICE_NEUTRAL:
        return name
    # torch.cuda.memory.mem_get_info: the NPU may have it under another spelling only.
    for spelling in table.spellings(name):
        found = _textual(table, spelling, counterpart_of)
        if found is not None:
            return found
    return None


def _meaning_of_what_holds_it(name: str, counterpart_of: CounterpartOf) -> Meaning | None:
    """The row of the module or class that is missing as a whole: what holds for torch.cuda.nccl holds in it too."""
    parent = name.rpartition(".")[0]
    above = counterpart_of(parent) if "." in parent else None
    return above.meaning if above is not None and above.npu is None else None


def _textual(table: ReleaseNames, name: str, counterpart_of: CounterpartOf) -> str | None:
    """The name with ``cuda`` replaced, part by part, if the table has it."""
    parent, _, last = name.rpartition(".")
    if name.startswith("torch._C."):
        owner: str | None = "torch_npu._C"
        parent = ""
        last = name[len("torch._C.") :]
    else:
        above = counterpart_of(parent) if parent.startswith(("torch.cuda", "torch.backends")) else None
        owner = above.npu if above is not None else None
    if owner is None:
        return None
    for candidate in dict.fromkeys((last, _without_cuda(last))):
        if table.has(f"{owner}.{candidate}"):
            return f"{owner}.{candidate}"
    return None


def exists(table: ReleaseNames, npu: str) -> bool:
    """Whether a name that a hand-written row gives is there.

    Names of torch itself that no table covers (``torch.OutOfMemoryError``) are taken as the row gives them.
    """
    if npu.startswith(("torch.npu", "torch_npu")):
        return table.importable(npu)
    if any(word in npu for word in ("npu", "hccl", "cann")):
        return table.has(npu)  # what torch_npu adds to torch, and not every release does
    return not npu.startswith((*_DEVICE_NEUTRAL, "torch.cuda", "torch.backends.cud")) or table.has_cuda(npu)


def _without_cuda(text: str) -> str:
    return text.replace("CUDA", "NPU").replace("Cuda", "NPU").replace("cuda", "npu")


def _import_path(table: ReleaseNames, npu: str) -> str | None:
    path = npu_module_name(npu)
    if not path.startswith(("torch_npu", *_DEVICE_NEUTRAL)):
        return None
    parent = path.rpartition(".")[0]
    owner = table.signature(parent) if parent not in ("torch", "torch_npu") else None
    return path if owner is None or owner.kind == "module" else None


class _Differences(NamedTuple):
    """How the parameters of an NPU name differ; see the fields of :class:`Counterpart`."""

    missing: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    moved: tuple[str, ...] = ()


def _compare(cuda: Signature | None, npu: Signature | None) -> _Differences:
    if cuda is None or npu is None or cuda.parameters is None or npu.parameters is None:
        return _Differences()
    theirs = {p.name for p in cuda.parameters}
    places = [p.name for p in npu.parameters if p.kind in ("positional", "both")]
    missing: list[str] = []
    renamed: list[tuple[str, str]] = []
    moved: list[str] = []
    for index, parameter in enumerate(p for p in cuda.parameters if p.kind in ("both", "keyword")):
        by_place = parameter.kind == "both" and index < len(places)
        if npu.accepts(parameter.name):
            if parameter.kind == "both" and parameter.name in places and places.index(parameter.name) != index:
                moved.append(parameter.name)
        elif by_place and places[index] not in theirs:
            renamed.append((parameter.name, places[index]))
        else:
            missing.append(parameter.name)
    return _Differences(tuple(missing), tuple(renamed), tuple(moved))


def _describe(table: ReleaseNames, name: str, npu: str | None, missing: tuple[str, ...]) -> str:
    if npu is None:
        return phrase("torch_npu {torch_npu} has nothing in place of {name}.", torch_npu=table.torch_npu, name=name)
    if missing:
        names = ", ".join(missing)
        return phrase(
            "{npu} of torch_npu {torch_npu} does not take these parameters of {name}: {names}.",
            npu=npu,
            torch_npu=table.torch_npu,
            name=name,
            names=names,
        )
    return phrase(
        "{npu} takes the place of {name} on torch_npu {torch_npu}.", npu=npu, name=name, torch_npu=table.torch_npu
    )
