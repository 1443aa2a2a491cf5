"""What was seen otherwise on an NPU: edits that rest on it are offered for review, and the finding says where."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from npuify.helpers import KERNELS, PACKAGES
from npuify.knowledge.third_party.replacements import families
from npuify.language import phrase, sentences
from npuify.model import Safety

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from npuify.knowledge.hardware.apply import Hardware
    from npuify.knowledge.hardware.facts import Sight
    from npuify.model import Finding

_RENAMES = frozenset(("NPU100", "NPU101", "NPU103"))
"""Rules that say what a name is called, and nothing of what it does."""
_ATTENTION = "npu_fusion_attention"
_WORD = re.compile(r"\w+")
_LONGEST = 120


class _Refuted(NamedTuple):
    """Where something did not hold that findings rest on."""

    forms: Mapping[str, Sight]
    """By code."""
    behaviour: Mapping[str, Sight]
    """By the name that does otherwise."""
    operators: Mapping[str, Sight]
    """By the last part of torch_npu's operator."""
    modules: Mapping[tuple[str, str], Sight]
    """By a module of npuify's, or family of kernels, and its function."""


def doubted(findings: Sequence[Finding], hardware: Hardware, style: str) -> list[Finding]:
    """The findings, with edits that rest on what was refuted on hardware no longer safe.

    That is the example of their rule, what the name that they are about does otherwise than CUDA's, an operator of
    torch_npu's that they write, or a function of a module that is written into the project.
    """
    refuted = _refuted(hardware, style)
    if not any(refuted):
        return list(findings)
    return [_doubted(one, list(dict.fromkeys(_reasons(one, refuted)))) for one in findings]


@lru_cache(maxsize=4)
def _refuted(hardware: Hardware, style: str) -> _Refuted:
    forms, attention = hardware.all_refuted("forms"), list(hardware.all_refuted("attention").values())
    return _Refuted(
        {name.partition("/")[0]: sight for name, sight in forms.items() if name.endswith(f"/{style}")},
        {name.partition(" ")[0]: sight for name, sight in hardware.all_refuted("behaviour").items()},
        {**({_ATTENTION: attention[0]} if attention else {}), **hardware.all_refuted("custom")},
        {
            (name.partition(" ")[0], name.partition(" ")[2]): one
            for name, one in hardware.all_refuted("kernels").items()
        },
    )


def _reasons(finding: Finding, refuted: _Refuted) -> Iterator[str]:
    """What speaks against a finding's edits, or against what it says."""
    sight = refuted.forms.get(finding.code)
    if sight is not None and finding.edits:
        yield phrase("{machine} refused what this rule writes.", machine=sight.machine)
    sight = refuted.behaviour.get(finding.subject)
    if sight is not None and finding.code not in _RENAMES:
        yield phrase("{machine} did otherwise: {seen}.", machine=sight.machine, seen=_short(sight.fact.seen))
    words = {word for edit in finding.edits for word in _WORD.findall(edit.after)}
    for name in sorted(words & refuted.operators.keys()):
        machine = refuted.operators[name].machine
        yield phrase("{machine} computed otherwise with {name}.", machine=machine, name=name)
    homes = {PACKAGES[word] for word in words & PACKAGES.keys()}
    bound = set(_WORD.findall(finding.message)) if KERNELS in words else set()
    for (home, function), sight in sorted(refuted.modules.items()):
        if (home in homes and function in words) or bound & _bound_to(home, function):
            yield phrase("{machine} computed otherwise with {name}.", machine=sight.machine, name=f"{home}.{function}")


def _bound_to(family: str, function: str) -> set[str]:
    """The operators whose place a function of a family takes."""
    row = families().get(family)
    return {one.name for one in row.operators if one.function == function} if row else set()


def _short(seen: object) -> str:
    text = msgspec.json.encode(seen).decode()
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _doubted(finding: Finding, told: Sequence[str]) -> Finding:
    if not told:
        return finding
    safety = Safety.REVIEW if finding.safety is Safety.SAFE else finding.safety
    return msgspec.structs.replace(finding, safety=safety, message=sentences(finding.message, *told))
