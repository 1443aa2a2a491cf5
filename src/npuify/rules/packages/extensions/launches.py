"""How wide an operator launches its kernels: a copy that starts too few threads computes a part."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from npuify.source.native.form import form_of, tokens_of
from npuify.source.native.widths import alike, declared, grid_and_block, strides_of, without_axes, works_together

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.rules.packages.extensions.fingerprints import Fingerprints
    from npuify.source.native.file import Binding

_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_PLAIN: Final = re.compile(r"\(*\s*(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\s*\)*(?:\s*//[^\n]*)?")
_MOST: Final = 400
"""Functions that are followed from one operator."""
_DEPTH: Final = 4


class Launches:
    """What is launched for an operator, and how wide.

    Args:
        prints: knows what names mean in the project.
    """

    def __init__(self, prints: Fingerprints) -> None:
        self._prints = prints

    def of(self, relative: str, binding: Binding) -> str:
        """A digest: equal for two copies of the same code whose launches cover the same; empty where none launches."""
        found = sorted(set(self._each(relative, binding)))
        return blake2b("|".join(found).encode(), digest_size=8).hexdigest() if found else ""

    def _each(self, relative: str, binding: Binding) -> Iterator[str]:
        first = [*binding.targets, *(form_of(binding.written).holes if binding.written else ())]
        pending, seen = [(relative, name) for name in first], set[tuple[str, str]]()
        while pending and len(seen) < _MOST:
            place, name = pending.pop()
            for file, text in self._prints.texts_of(place, name):
                if (file, text) in seen:
                    continue
                seen.add((file, text))
                form = form_of(text)
                yield from self._launched(file, form.launches)
                pending += [(file, one) for one in dict.fromkeys((*form.holes, *form.qualified, *form.launched))]

    def _launched(self, file: str, launches: Sequence[Sequence[str]]) -> Iterator[str]:
        extents: dict[str, list[str]] = {}
        for words in launches:
            if "<<<" not in words:
                if (found := declared(words)) is not None:
                    extents[found[0]] = found[1]
                continue
            kernel = self._kernel(file, words[0])
            wide = grid_and_block(words[2:])
            grid, *block = [extents.get(part[0], part) if len(part) == 1 else list(part) for part in wide]
            made = [*without_axes(grid, strides_of(kernel)), ";", *(block[0] if block else ())]
            yield alike(list(self._resolved(file, made, _DEPTH)), exact=works_together(kernel))

    def _kernel(self, file: str, name: str) -> list[str]:
        """The tokens of a kernel, and of the macros and functions that it names."""
        found: list[str] = []
        for place, text in self._prints.texts_of(file, name):
            tokens = tokens_of(text)
            found += tokens
            for other in dict.fromkeys(one for one in tokens if _NAME.fullmatch(one)):
                for _, inner in self._prints.texts_of(place, other) if other != name else ():
                    found += tokens_of(inner)
        return found

    def _resolved(self, file: str, words: Sequence[str], depth: int) -> Iterator[str]:
        """Constants with their numbers; behind a function or macro of the project what it computes, names counted."""
        for at, word in enumerate(words):
            texts = self._prints.texts_of(file, word) if _NAME.fullmatch(word) else []
            number = _PLAIN.fullmatch(texts[0][1].strip()) if len(texts) == 1 else None
            if number:
                yield number.group(1)
            elif texts and words[at + 1 : at + 2] == ["("] and depth:
                for place, text in texts:
                    names: dict[str, str] = {}
                    body = [one for one in tokens_of(text) if one not in ("const", "inline", "static")]
                    marked = [
                        names.setdefault(one, f"n{len(names)}")
                        if _NAME.fullmatch(one) and not self._prints.texts_of(place, one)
                        else one
                        for one in body
                    ]
                    yield from ("{", *self._resolved(place, marked, depth - 1), "}")
            else:
                yield word
