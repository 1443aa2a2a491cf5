"""Which lines of a project's Python call the operators of its own extensions: a search of texts, module by module."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_WORD = rb"[A-Za-z_]\w*"


class CallSearch:
    """Looks for calls of operators.

    Args:
        names: module and name of each operator.
    """

    def __init__(self, names: Iterable[tuple[str, str]]) -> None:
        self._by_module: dict[str, list[str]] = {}
        for module, name in names:
            if module:
                self._by_module.setdefault(module, []).append(name)
        self.words = tuple(sorted({self._word(module) for module in self._by_module}))
        """One of these stands in every file that calls an operator."""

    @staticmethod
    def _word(module: str) -> bytes:
        return module.rpartition(".")[2].encode()

    def places(self, relative: str, data: bytes) -> list[tuple[tuple[str, str], str]]:
        """The operators that a file calls, each with a place as ``file:line``."""
        found: list[tuple[tuple[str, str], str]] = []
        for module, names in self._by_module.items():
            word = self._word(module)
            if word not in data:
                continue
            if module.startswith("torch.ops."):
                holders = {module.encode()}
                holders |= set(
                    re.findall(rb"(%s)\s*=\s*%s\s*(?:#|$)" % (_WORD, re.escape(module.encode())), data, re.MULTILINE)
                )
            else:
                holders = _aliases(word, data)
            wanted = {name.encode(): name for name in names}
            for holder in holders:
                pattern = re.compile(rb"(?<![\w])" + re.escape(holder) + rb"\s*\.\s*(%s)\b" % _WORD)
                for match in pattern.finditer(data):
                    name = wanted.get(match.group(1))
                    if name is not None and not _in_comment(data, match.start()):
                        found.append(((module, name), _place(relative, data, match.start())))
            for match in re.finditer(rb"from[ \t]+[\w.]*\b" + re.escape(word) + rb"[ \t]+import[ \t]+([^\n]+)", data):
                for part in re.findall(_WORD, match.group(1)):
                    name = wanted.get(part)
                    if name is not None:
                        found.append(((module, name), _place(relative, data, match.start())))
        return found


def _aliases(word: bytes, data: bytes) -> set[bytes]:
    """The names that a file gives to the module whose last part is ``word``."""
    quoted = re.escape(word)
    found = {word}
    found |= set(re.findall(rb"\b" + quoted + rb"[ \t]+as[ \t]+(%s)" % _WORD, data))
    found |= set(re.findall(rb"(%s)[ \t]*=[^\n]*[\"'](?:[\w.]*\.)?" % _WORD + quoted + rb"[\"']", data))
    found |= set(
        re.findall(rb"(%s)[ \t]*=[ \t]*(?:[\w.]*\.)?" % _WORD + quoted + rb"[ \t]*(?:#|$)", data, re.MULTILINE)
    )
    return found


def _place(relative: str, data: bytes, at: int) -> str:
    line = data.count(b"\n", 0, at) + 1
    return f"{relative}:{line}"


def _in_comment(data: bytes, at: int) -> bool:
    start = data.rfind(b"\n", 0, at) + 1
    return b"#" in data[start:at]
