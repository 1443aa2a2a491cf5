"""What a person or a program is told about launch scripts and clusters."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from npuify.language import mark, phrase, told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .cluster.build import ClusterResult
    from .launch import LaunchResult

_WORDS = {"must": mark("to change"), "check": mark("to check"), "note": mark("note")}


def launch_text(result: LaunchResult) -> str:
    """What was written and what to do, or, where nothing was written, the texts themselves."""
    return "\n".join(_launch_lines(result)) + "\n"


def _launch_lines(result: LaunchResult) -> Iterator[str]:
    if not result.output:
        for name, text in result.files.items():
            yield f"# ==== {name}"
            yield text
        yield "# ==== " + phrase("nothing was written; specify a folder with -o")
    else:
        cards = phrase("{number} cards", number=result.cards) if result.cards is not None else phrase("all cards")
        where = "" if result.nodes == 1 else phrase(" of each of {nodes} machines", nodes=result.nodes)
        way = phrase("by {method} (torch_npu {torch_npu})", method=result.method, torch_npu=result.release.torch_npu)
        if result.method == "tensorflow":
            way = phrase("with the TensorFlow adapter")
        yield phrase("{entry} on {cards}{where}, {way}", entry=result.entry, cards=cards, where=where, way=way)
        yield f"  {told(result.message)} [{result.evidence.value}]"
        yield phrase("written:")
        yield from (f"  {result.output}/{name}" for name in result.files)
        yield phrase("start:") if result.nodes == 1 else phrase("start, one on each machine:")
        yield from (f"  {command}" for command in result.commands)
        if result.method != "vllm":  # which has no form in the simulator
            yield phrase("try it without NPUs:")
            first = result.commands[0]
            variables, _, command = first.rpartition("bash ")
            simulate = "npuify simulate --framework tensorflow" if result.method == "tensorflow" else "npuify simulate"
            yield f"  {variables}{simulate} bash {command}"
    yield from _program_lines(result)


def _program_lines(result: LaunchResult) -> Iterator[str]:
    if not result.program:
        return
    yield phrase("the program:")
    for change in result.program:
        place = f"{change.file}:{change.line}: " if change.line else f"{change.file}: " if change.file else ""
        patched = phrase(" (in program.patch)") if change.edits else ""
        said = phrase("{what}: {message}", what=phrase(_WORDS[change.level]), message=f"{place}{told(change.message)}")
        yield f"  {said}{patched}"
    if any(change.edits for change in result.program) and result.output:
        yield phrase(
            "  patch -p1 < {quote}/program.patch    # in the folder where the program runs",
            quote=shlex.quote(result.output),
        )


def cluster_text(result: ClusterResult) -> str:
    """What was planned and written, or, where nothing was written, the texts themselves."""
    return "\n".join(_cluster_lines(result)) + "\n"


def _cluster_lines(result: ClusterResult) -> Iterator[str]:
    if not result.output:
        for name, text in result.files.items():
            yield f"# ==== {name}"
            yield text
        yield "# ==== " + phrase("nothing was written; specify a folder with -o")
        return
    yield phrase(
        "{number} machines of {product}, {world_size} ranks",
        number=len(result.machines),
        product=result.product,
        world_size=result.world_size,
    )
    yield f"  {told(result.rules)} [{result.evidence.value}]"
    for machine in result.machines:
        first, last = machine.cards[0], machine.cards[-1]
        addresses = (
            phrase(", {first} to {last}", first=first.address, last=last.address)
            if first.address
            else phrase(", addresses preset")
        )
        yield phrase(
            "  {name} ({address}): ranks {rank} to {rank2}{addresses}",
            name=machine.name,
            address=machine.address,
            rank=first.rank,
            rank2=last.rank,
            addresses=addresses,
        )
    yield from ("  " + phrase("note: {note}", note=note) for note in result.notes)
    yield phrase("written:")
    yield from (f"  {result.output}/{name}" for name in result.files)
    yield phrase("next steps: {output}/CLUSTER.md", output=result.output)
