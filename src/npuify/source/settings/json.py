"""JSON, with the comments and final commas that some tools take."""

from __future__ import annotations

import re

from npuify.source.settings import Document, Key, UnreadableSettings, Value, last_key

_TOKEN = re.compile(
    rb"""[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/"""
    rb"""|(?P<string>"(?:[^"\\\r\n]|\\.)*")|(?P<bare>[^\s{}\[\]:,"/]+)|(?P<mark>[{}\[\]:,])""",
    re.DOTALL,
)


def read(data: bytes) -> Document:
    """The scalars of a JSON file. A file of lines that are JSON each is read as well.

    Raises:
        UnreadableSettings: a character cannot stand there, or brackets do not match.
    """
    found = Document([], [])
    # Of each open bracket: its kind, the path to it, the key that waits for a value, the key's place, a number.
    stack: list[tuple[str, tuple[str, ...], int]] = []
    keys: list[tuple[str, int, int]] = []
    numbers, at, wants_key = 0, 0, False
    while at < len(data):
        match = _TOKEN.match(data, at)
        if match is None:
            raise UnreadableSettings("not JSON", data.count(b"\n", 0, at) + 1)
        at = match.end()
        kind = match.lastgroup
        if kind == "mark":
            mark = match.group().decode()
            if mark in "{[":
                path = _path(stack, keys)
                if stack and stack[-1][0] == "{":
                    found.keys.append(Key(path, keys[-1][1], keys[-1][2]))
                numbers += 1
                stack.append((mark, path, numbers))
                keys.append(("", 0, 0))
                wants_key = mark == "{"
            elif mark in "}]":
                if not stack or stack[-1][0] != {"}": "{", "]": "["}[mark]:
                    raise UnreadableSettings("not JSON: brackets do not match", data.count(b"\n", 0, at) + 1)
                stack.pop()
                keys.pop()
                wants_key = False
            elif mark == ",":
                wants_key = bool(stack) and stack[-1][0] == "{"
            else:
                wants_key = False
        elif kind in ("string", "bare"):
            quote = '"' if kind == "string" else ""
            start, end = match.start() + len(quote), match.end() - len(quote)
            text = data[start:end].decode("utf-8", "replace")
            if wants_key:
                keys[-1] = (text, start, end)
                continue
            span = keys[-1][1:] if stack and stack[-1][0] == "{" else (0, 0)
            number = stack[-1][2] if stack else 0
            path = _path(stack, keys)
            found.values.append(Value(path, text, start, end, *span, quote, number, last_key(path)))
    if stack:
        raise UnreadableSettings("not JSON: it ends too early", data.count(b"\n") + 1)
    return found


def _path(stack: list[tuple[str, tuple[str, ...], int]], keys: list[tuple[str, int, int]]) -> tuple[str, ...]:
    if not stack:
        return ()
    return (*stack[-1][1], keys[-1][0] if stack[-1][0] == "{" else "#")
