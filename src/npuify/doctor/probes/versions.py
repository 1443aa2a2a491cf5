"""Versions of CANN and of the driver, which are not those of Python packages: 8.3.RC1, 24.1.rc3, 8.0.RC2.alpha001."""

from __future__ import annotations

import re
from typing import Final

_PARTS: Final = re.compile(r"\d+|[a-z]+", re.IGNORECASE)
_STAGES: Final = {"alpha": -3, "a": -3, "beta": -2, "b": -2, "rc": -1, "t": 0, "tr": 0}
Key = tuple[tuple[int, int, int], tuple[tuple[int, int], ...]]


def key(version: str) -> Key:
    """What versions are ordered by: 8.3.RC1 < 8.3.0, and 8.0.RC2.alpha001 < 8.0.RC2 < 8.0.RC2.1."""
    numbers: list[int] = []
    stages: list[tuple[int, int]] = []
    words = _PARTS.findall(version.strip())
    index = 0
    while index < len(words):
        word = words[index].lower()
        if word.isdigit():
            if stages:
                stages.append((0, int(word)))
            else:
                numbers.append(int(word))
            index += 1
            continue
        number = int(words[index + 1]) if index + 1 < len(words) and words[index + 1].isdigit() else 0
        stages.append((_STAGES.get(word, 0), number))
        index += 2
    first = (*numbers, 0, 0, 0)[:3]
    # A release comes after its candidates, and before its own patches.
    return (first[0], first[1], first[2]), (*stages, (0, -1))


def family(version: str) -> str:
    """Major and minor: the 25.5 of 25.5.1 and the 25.3 of 25.3.rc1."""
    numbers = key(version)[0]
    return f"{numbers[0]}.{numbers[1]}"


def same(one: str, other: str) -> bool:
    """Whether two spellings name the same version: 8.3.RC1 and 8.3.rc1."""
    return key(one) == key(other)


def between(version: str, lowest: str, highest: str) -> bool:
    """Whether ``version`` lies in a range, its ends included; its further parts do not count."""
    depth_low, depth_high = lowest.count(".") + 1, highest.count(".") + 1
    parts = [int(part) for part in re.findall(r"\d+", version)]
    low = [int(part) for part in re.findall(r"\d+", lowest)]
    high = [int(part) for part in re.findall(r"\d+", highest)]
    return parts[:depth_low] >= low and parts[:depth_high] <= high
