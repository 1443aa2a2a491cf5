"""Which lines of a project's Python call the operators of its own extensions: a search of texts, module by module."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from npuify.rules.common.packages.computed_imports import WORDS, computed_places

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from npuify.rules.common.packages.computed_imports import Computed

_NAME = rb"[A-Za-z_]\w*"


class CallSearch:
    """Looks for calls of operators.

    Args:
        names: module and name of each operator.
        loaders: the module that each class gives by its method ``load``.
        computed: what is known of the names of extensions, for imports by a name that Python computes.
    """

    def __init__(
        self,
        names: Iterable[tuple[str, str]],
        loaders: Mapping[str, str] | None = None,
        computed: Sequence[Computed] = (),
    ) -> None:
        self._by_module: dict[str, dict[bytes, str]] = {}
        self._names: dict[str, list[str]] = {}
        for module, name in sorted(names):
            self._names.setdefault(module, []).append(name)
            if module:
                self._by_module.setdefault(module, {})[name.encode()] = name
        self._words = {module: module.rpartition(".")[2].encode() for module in self._by_module}
        self._loaders: dict[str, set[bytes]] = {}
        for loader, module in (loaders or {}).items():
            self._loaders.setdefault(module, set()).add(loader.encode())
        loaded = {loader for module in self._by_module for loader in self._loaders.get(module, ())}
        self._computed = [one for one in computed if one.module in self._names]
        found = {*self._words.items(), *(("", one.word.encode()) for one in self._computed if one.word)}
        self._pairs = sorted(found)
        imports = WORDS if self._computed else ()
        self.words = tuple(sorted({*(word for _, word in self._pairs), *loaded, *imports}))
        """One of these stands in every file that calls an operator."""
        named = [f"{module}.{name}" for module, found in self._by_module.items() for name in found.values()]
        loading = [f"{loader.decode()}()={module}" for module, found in self._loaders.items() for loader in found]
        forms = [f"{one.module} is {one.form} in {one.variable}" for one in self._computed]
        unnamed = self._names.get("", []) if self._computed else []
        self.sought = (*sorted(named), *sorted(loading), *sorted(forms), *unnamed)
        """What is sought, as texts: a search for the same finds the same."""

    def places(self, relative: str, data: bytes) -> list[tuple[tuple[str, str], str]]:
        """The operators that a file calls, each with a place as ``file:line``."""
        found: list[tuple[tuple[str, str], str]] = []
        for module, word in self._pairs:
            names = self._by_module.get(module) or {name.encode(): name for name in self._names[module]}
            lines = list(_lines_with(word, data))
            loaded = {
                match.group(1)
                for loader in self._loaders.get(module, ())
                for start, end in _lines_with(loader, data)
                for match in _load(loader).finditer(data, start, end)
            }
            if not lines and not loaded:
                continue
            if module.startswith("torch.ops."):
                holders = {word} if any(module.encode() in data[start:end] for start, end in lines) else set()
                holders |= _aliases(word, lines, data) if holders else set()
            else:
                holders = {word, *_aliases(word, lines, data), *_built(word, data)} if lines else set()
            holders |= loaded
            patterns = [_use(holder) for holder in holders]
            if lines and not module.startswith("torch.ops."):
                patterns += _given(data)
            for pattern in patterns:
                for match in pattern.finditer(data):
                    name = names.get(match.group(1))
                    if name is not None and not _in_comment(data, match.start()):
                        found.append(((module, name), _place(relative, data, match.start())))
            for start, end in lines:
                statement = _from(word).match(data, start, end)
                if statement is not None:
                    listed = data[statement.end() : _end_of_list(data, statement.end(), end)]
                    imported = {names[part] for part in re.findall(_NAME, listed) if part in names}
                    found += [((module, name), _place(relative, data, start)) for name in sorted(imported)]
        if self._computed and any(word in data for word in WORDS):
            places = computed_places(data, self._computed, self._names)
            found += [((module, name), f"{relative}:{line}") for module, name, line in places]
        return found


@cache
def _use(holder: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"\b" + re.escape(holder) + rb"[ \t]*\.[ \t]*(" + _NAME + rb")")


_GIVING = re.compile(rb"^def[ \t]+(" + _NAME + rb")\(\)", re.MULTILINE)


def _given(data: bytes) -> list[re.Pattern[bytes]]:
    """``backend().name``, where the file has a function ``backend`` that may give the module."""
    givers = b"|".join(_GIVING.findall(data))
    return [re.compile(rb"\b(?:" + givers + rb")\(\)[ \t]*\.[ \t]*(" + _NAME + rb")")] if givers else []


@cache
def _load(loader: bytes) -> re.Pattern[bytes]:
    """``x = Loader().load()``, the class given by its name as well."""
    return re.compile(rb"(" + _NAME + rb")[ \t]*=[^=\n]*\b" + re.escape(loader) + rb"\b[^\n]*\.load\(")


def _built(word: bytes, data: bytes) -> set[bytes]:
    """The names that a file gives to the module that it builds itself: ``x = load(name="word", …)``."""
    if b"load" not in data:
        return set()
    return {match.group(1) for match in _build(word).finditer(data)}


@cache
def _build(word: bytes) -> re.Pattern[bytes]:
    return re.compile(
        rb"\b(" + _NAME + rb")[ \t]*=\s*(?:\w+\.)*load(?:_inline)?\(\s*(?:name[ \t]*=\s*)?[\"']"
        rb"(?:[\w.]*\.)?" + re.escape(word) + rb"[\"']"
    )


@cache
def _from(word: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"[ \t]*from[ \t]+(?:[\w.]*\.)?" + re.escape(word) + rb"[ \t]+import[ \t]+")


def _end_of_list(data: bytes, start: int, end: int) -> int:
    """The end of the names that an import lists, in brackets or on one line, which a backslash makes longer."""
    if data[start : start + 1] == b"(":
        close = data.find(b")", start)
        return close if close >= 0 else end
    while data[max(0, end - 2) : end].rstrip(b"\r").endswith(b"\\") and end < len(data):
        after = data.find(b"\n", end + 1)
        end = after if after >= 0 else len(data)
    return end


def _lines_with(word: bytes, data: bytes) -> Iterator[tuple[int, int]]:
    """The spans of the lines on which an identifier stands."""
    at = data.find(word)
    while at >= 0:
        after = at + len(word)
        start, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", after)
        end = len(data) if end < 0 else end
        if not _is_name(data[at - 1 : at] if at else b"") and not _is_name(data[after : after + 1]):
            yield start, end
            at = data.find(word, end)
        else:
            at = data.find(word, after)


def _is_name(byte: bytes) -> bool:
    return byte == b"_" or byte.isalnum()


def _aliases(word: bytes, lines: Iterable[tuple[int, int]], data: bytes) -> set[bytes]:
    """The other names that a file gives to the module whose last part is ``word``."""
    found: set[bytes] = set()
    for start, end in lines:
        for pattern in _naming(word):
            match = pattern.search(data, start, end)
            if match is not None:
                found.add(match.group(1))
    return found


@cache
def _naming(word: bytes) -> tuple[re.Pattern[bytes], ...]:
    """``import word as x``, ``x = load("word")`` and ``x = package.word``."""
    quoted = re.escape(word)
    return (
        re.compile(rb"\b" + quoted + rb"[ \t]+as[ \t]+(" + _NAME + rb")"),
        re.compile(rb"(" + _NAME + rb")[ \t]*=[^\n=]*[\"'](?:[\w.]*\.)?" + quoted + rb"[\"']"),
        re.compile(rb"(" + _NAME + rb")[ \t]*=[ \t]*(?:[\w.]*\.)?" + quoted + rb"[ \t]*(?:#|$)", re.MULTILINE),
    )


def _place(relative: str, data: bytes, at: int) -> str:
    line = data.count(b"\n", 0, at) + 1
    return f"{relative}:{line}"


def _in_comment(data: bytes, at: int) -> bool:
    start = data.rfind(b"\n", 0, at) + 1
    return b"#" in data[start:at]
