"""Made-up data for programs that read files."""

from __future__ import annotations

from pathlib import Path

import numpy

MAKERS = {}


def maker(function):
    MAKERS[function.__name__] = function
    return function


@maker
def text(path: Path) -> None:
    drawn = numpy.random.default_rng(1)
    words = ["one", "two", "three", "four", "five"]
    path.write_text(" ".join(words[place] for place in drawn.integers(len(words), size=600)))


@maker
def pictures(folder: Path, count: int = 20) -> None:
    drawn = numpy.random.default_rng(2)
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        with (folder / f"p{number:02}.png").open("wb") as file:
            numpy.save(file, drawn.integers(256, size=(32, 32, 3)).astype(numpy.uint8))


@maker
def masks(folder: Path, count: int = 20) -> None:
    drawn = numpy.random.default_rng(3)
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        with (folder / f"p{number:02}.png").open("wb") as file:
            numpy.save(file, (drawn.random((32, 32)) > 0.5).astype(numpy.uint8))
