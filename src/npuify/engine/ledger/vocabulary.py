"""What concerns CUDA: the words that the ledger accounts for, and where they stand in a text."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from npuify.words import words_of

WORDS: Final = (
    b"cuda",
    b"nccl",
    b"cudnn",
    b"cublas",
    b"cusparse",
    b"cufft",
    b"curand",
    b"cusolver",
    b"cupy",
    b"nvidia",
    b"nvml",
    b"nvtx",
    b"nvrtc",
    b"nvcc",
    b"nvfuser",
    b"gpu",
    b"tensorrt",
    b"xformers",
    b"flash_attn",
    b"flash-attn",
    b"bitsandbytes",
    b"transformer_engine",
    b"apex",
    b"triton",
)
"""Words, in lower case, that a place holds which concerns CUDA, in any case and as a part of a longer word."""
_ALONE: Final = (b"apex", b"triton", b"gpu")
"""Words that count only as a word, or as a part of a name between underscores, digits or capitals."""
_PART = re.compile(rb"(?:[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]+)")
_RUN = re.compile(rb"\w+")
_WORD_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


class Occurrence(NamedTuple):
    """One place: a run of letters, digits and underscores that holds at least one of ``WORDS``. Offsets in bytes."""

    start: int
    end: int


def occurrences(data: bytes, lower: bytes) -> list[Occurrence]:
    """The places in a text, in order.

    Args:
        data: the text as UTF-8.
        lower: the same in lower case.
    """
    found: list[Occurrence] = []
    last = -1
    for start, end in sorted(words_of(*WORDS).places(lower)):
        if start < last:
            continue
        first = start
        while first and data[first - 1] in _WORD_BYTES:
            first -= 1
        last = _end_of_run(data, end)
        if _counts(data[first:last], lower[start:end]):
            found.append(Occurrence(first, last))
    return found


def is_named(name: str) -> bool:
    """Whether an identifier holds one of the words."""
    data = name.encode()
    return bool(occurrences(data, data.lower()))


def concerns(lower: bytes) -> bool:
    """Whether any of the words stands in a text in lower case."""
    return any(word in lower for word in WORDS)


def _end_of_run(data: bytes, end: int) -> int:
    size = len(data)
    while end < size and data[end] in _WORD_BYTES:
        end += 1
    return end


def _counts(run: bytes, word: bytes) -> bool:
    """Whether a word in a run means what it says: ``gpus`` and ``num_gpu`` are about GPUs, ``apexes`` is not."""
    if word not in _ALONE or run.lower() == word:
        return True
    if any(other in run.lower() for other in WORDS if other not in _ALONE):
        return True
    parts = [part.lower() for piece in run.split(b"_") for part in _PART.findall(piece)]
    if word == b"gpu":
        return any(part.endswith((b"gpu", b"gpus")) or part.startswith(b"gpu") for part in parts)
    return word in parts
