"""The project's own CUDA code, as a verdict tells of it: one entry an extension."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.language import commas, phrase, plural, semicolons

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.model import NativeOperator, Survey

NATIVE_OPERATOR: Final = "NPU630"
_MOST_GROUPS: Final = 12
_MOST_EQUIVALENTS: Final = 4
_GENERAL: Final = (
    "Find out which of them you need. Replace those with operators from torch or torch_npu, or from other packages "
    "that support Ascend, or rewrite them in Ascend C."
)


class KernelGroup(NamedTuple):
    """One extension, or the files of which no operator is known."""

    what: str
    why: str
    advice: str
    places: tuple[str, ...]
    """``file:line``; line 0 for a whole file."""


def kernel_groups(survey: Survey) -> list[KernelGroup]:
    """What of the project's own CUDA code stands in the way: what Python calls and nobody has written for an NPU."""
    if not survey.kernels and not survey.operators:
        return []
    waiting = [one for one in survey.operators if one.calls and not one.has_npu and one.difficulty != "host"]
    if not waiting:
        # Operators that no Python was seen to call may not be needed at all; the findings tell of each.
        known = any(one.difficulty != "host" for one in survey.operators)
        return _files(survey) if survey.kernels and not known else []
    by_module: dict[str, list[NativeOperator]] = {}
    for one in waiting:
        by_module.setdefault(one.module, []).append(one)
    ordered = sorted(by_module.items(), key=lambda item: (-len(item[1]), item[0]))
    groups = [_group(module, operators) for module, operators in ordered[:_MOST_GROUPS]]
    rest = [one for _, operators in ordered[_MOST_GROUPS:] for one in operators]
    if rest:
        groups.append(_group(phrase("{value} more extensions", value=len(ordered) - _MOST_GROUPS), rest))
    return groups


def _group(module: str, operators: Sequence[NativeOperator]) -> KernelGroup:
    count = len(operators)
    names = commas(one.name for one in operators[:6]) + (
        phrase(" and {value} more", value=count - 6) if count > 6 else ""
    )
    kinds = Counter(one.difficulty for one in operators)
    uses = sorted({use for one in operators for use in one.uses})
    replaced = [one.name for one in operators if one.replacement]
    advice = ""
    if replaced:
        which = phrase("all of them") if len(replaced) == count else commas(replaced[:6])
        advice = phrase("--replace-kernels puts proven replacements in the place of {which}. ", which=which)
    others = [one for one in operators if not one.replacement]
    known = list(dict.fromkeys(one.equivalent.partition(":")[0] for one in others if one.equivalent))
    without = [one.name for one in others if not one.equivalent]
    advice += phrase("Call instead: {known}. ", known=semicolons(known[:_MOST_EQUIVALENTS])) if known else ""
    if without:
        advice += (
            phrase("No equivalent is known of {names}. ", names=commas(without[:6]))
            if known
            else phrase("No equivalent is known. ")
        )
    if others and all(one.has_cpu for one in others):
        advice += phrase("The project has a CPU implementation: --cpu-fallback adds the copies around the calls. ")
    return KernelGroup(
        plural(
            "{module}: {count} CUDA operator ({names})",
            "{module}: {count} CUDA operators ({names})",
            count,
            module=module or phrase("an extension"),
            names=names,
        ),
        phrase(
            "Kernels for NVIDIA GPUs do not build for Ascend: {kinds}{uses}.",
            kinds=commas(f"{number} {phrase(kind)}" for kind, number in sorted(kinds.items())),
            uses=phrase("; they use {uses}", uses=commas(uses)) if uses else "",
        ),
        advice.strip() or _GENERAL,
        tuple(place for one in operators for place in _first(one)),
    )


def _first(operator: NativeOperator) -> list[str]:
    """Some of the places where an operator is called; before all those that run by default."""
    behind = {place for place, _ in operator.switched}
    return sorted(operator.calls, key=behind.__contains__)[:3]


def _files(survey: Survey) -> list[KernelGroup]:
    count = len(survey.kernels)
    return [
        KernelGroup(
            plural("{count} CUDA source file of the project", "{count} CUDA source files of the project", count),
            phrase("Kernels for NVIDIA GPUs do not build for Ascend."),
            _GENERAL,
            tuple(f"{file}:0" for file in survey.kernels),
        )
    ]
