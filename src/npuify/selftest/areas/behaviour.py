"""What rows of ``names.toml`` say of a name: the effect tells how to ask, and where it does not, the row itself has
the question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.knowledge.hand_written import meanings
from npuify.language import phrase
from npuify.selftest.checks import Check, Unchecked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.release.table import ReleaseTable
    from npuify.knowledge.schema import Meaning


def checks(table: ReleaseTable) -> Iterator[Check | Unchecked]:
    """A check for each row that counts on this release."""
    for cuda in sorted(meanings()):
        row = table.meaning(cuda)
        if row is None or row.cuda != cuda:
            continue
        question = question_of(row, table)
        if not question:
            yield Unchecked("behaviour", cuda, phrase("the row says in words what no question asks"))
            continue
        yield Check(
            id=f"behaviour/{cuda} {row.effect}",
            claim=row.message,
            subject=cuda,
            evidence=row.evidence,
            source=row.source,
            function="says:true",
            arguments={"expression": question},
            expected=True,
            group="behaviour",
            quick=True,
        )


def question_of(row: Meaning, table: ReleaseTable) -> str:
    """An expression that is true where the row holds; empty where none can be made."""
    if row.check:
        return row.check
    npu = row.npu if row.npu is not None else counterpart(row, table)
    name = npu or row.cuda
    match row.effect:
        case "renamed":
            return f"there({npu!r})" if npu else ""
        case "missing":
            return " and ".join(f"not there({one!r})" for one in absent(row, table))
        case "returns-none":
            return f"is_none({name!r})"
        case "no-effect":
            switches = [row.cuda, npu] if "sdp" in npu else [row.cuda]
            return " and ".join(f"does_nothing({one!r})" for one in switches)
        case "raises":
            return f"fails({row.cuda!r})"
        case _:
            return ""


def counterpart(row: Meaning, table: ReleaseTable) -> str:
    """The NPU name that a row leaves to the table."""
    found = table.counterpart(row.cuda)
    return found.npu or "" if found is not None else ""


def absent(row: Meaning, table: ReleaseTable) -> list[str]:
    """Names that would be there, if the NPU had something in the place of a CUDA name that has no counterpart."""
    swapped = row.cuda.replace("CUDA", "NPU").replace("Cuda", "NPU").replace("cuda", "npu")
    other = row.cuda.replace("torch.cuda", "torch.npu")
    return [one for one in dict.fromkeys((other, swapped)) if one != row.cuda and not table.has(one)]
