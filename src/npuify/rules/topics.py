"""The topics that ``--about`` takes, and the codes of the findings that belong to each."""

from __future__ import annotations

from typing import Final

from npuify.language import commas, phrase
from npuify.model import NpuifyError

TOPICS: Final = {
    "unsupported": ("NPU102", "NPU214", "NPU304", "NPU314", "NPU414", "NPU504", "NPU620", "NPU630", "NPU760"),
    "doubtful": ("NPU104", "NPU112", "NPU133", "NPU417", "NPU418", "NPU640", "NPU641"),
    "affinity": ("NPU501", "NPU502", "NPU503", "NPU508"),
    "shapes": ("NPU412", "NPU413"),
    "precision": ("NPU2", "NPU410", "NPU411", "NPU416", "NPU507", "NPU804"),
    "performance": (
        *("NPU310", "NPU401", "NPU402", "NPU403", "NPU414", "NPU506", "NPU508"),
        *("NPU642", "NPU801", "NPU802", "NPU803"),
    ),
    "kernels": ("NPU630", "NPU631", "NPU632", "NPU633", "NPU640", "NPU641", "NPU642", "NPU646", "NPU650"),
}
"""For each topic codes, or beginnings of codes: what an NPU lacks; what it has, and may do otherwise; what has a better
form there; shapes that depend on data; numbers that may differ; what costs time; the project's own kernels."""


def codes_of_topics(topics: list[str]) -> tuple[str, ...]:
    """The codes, or beginnings of codes, of ``topics``; an item may name several, with commas between them.

    Raises:
        NpuifyError: there is no such topic.
    """
    codes: list[str] = []
    for topic in (part.strip() for item in topics for part in item.split(",")):
        if topic not in TOPICS:
            raise NpuifyError(
                phrase("nothing is known about {topic!r}", topic=topic),
                advice=phrase("one of {TOPICS}", TOPICS=commas(TOPICS)),
            )
        codes += TOPICS[topic]
    return tuple(dict.fromkeys(codes))


def belongs_to(topic: str, code: str) -> bool:
    """Whether a finding of this code belongs to the topic."""
    return code.startswith(TOPICS[topic])
