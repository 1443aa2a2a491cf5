"""Read a shell script with tree-sitter, broken scripts included."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache
from typing import TYPE_CHECKING

from npuify.source.shell.script import UNKNOWN, Assignment, Command, Comparison, Heredoc, Script, Use, Word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node, Parser

_NOT_INTO_FILE = re.compile(r"2>|\d?>&\s*\d|<")
_WORDS = frozenset(("word", "string", "raw_string", "concatenation", "number", "command_name"))
_QUOTES = frozenset(('"', "'", "`", ")", "}", "heredoc_end", "$(", "${"))
_PLAIN = _WORDS | {"variable_name", "string_content", "test_operator", "extglob_pattern", "regex"}
"""Nodes whose text is what the shell makes of it, escapes aside, where nothing stands inside them."""
_QUOTED = frozenset(("string", "raw_string"))
_STAGES = 2
"""How many commands behind one in a pipeline are kept with it."""
_AS_IT_STANDS = re.compile(rb"[\x01-\x5b\x5d-\x7f]*").fullmatch
"""Whether a text is ASCII without a backslash."""


@cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def read(data: bytes, start: int = 0, end: int | None = None) -> Script:
    """The script ``data[start:end]``; its offsets are those into ``data``.

    Text that is no shell at all gives a script with little in it, never an error.
    """
    part = data[start:end]
    if b"\r\n" in part:
        # A carriage return would belong to the last word of its line; what is read keeps its length.
        part = part.replace(b"\\\r\n", b" \\\n").replace(b"\r\n", b" \n")
    tree = _parser().parse(part)
    script = Script([], [], [], [], [], [], [], [])
    reader = _Reader(part, start, script)
    reader.walk(tree.root_node)
    return script._replace(is_broken=reader.is_broken)


class _Reader:
    def __init__(self, data: bytes, base: int, script: Script) -> None:
        self.data = data
        self.base = base
        self.script = script
        self.is_broken = False
        self.pipeline: tuple[Node, list[Node], list[int]] | None = None
        """The pipeline that was looked at last, its commands, and where each begins."""

    def walk(self, root: Node) -> None:
        """Show each node to its handler, with the nodes above it, the nearest last."""
        # Not kept: bound methods in an attribute would be a ring, and keep every script until a collection.
        handlers: dict[str, Callable[[Node, tuple[Node, ...]], None]] = {
            "command": self._command,
            "variable_assignment": self._assignment,
            "declaration_command": self._names,
            "unset_command": self._names,
            "simple_expansion": self._expansion,
            "expansion": self._expansion,
            "array": self._array,
            "binary_expression": self._comparison,
            "case_statement": self._case,
            "for_statement": self._loop,
            "comment": self._comment,
            "redirected_statement": self._redirected,
        }
        stack: list[tuple[Node, tuple[Node, ...]]] = [(root, ())]
        has_error = root.has_error
        while stack:
            node, above = stack.pop()
            if has_error and (node.is_error or node.is_missing):
                self.is_broken = self.is_broken or self._spreads(node)
            handler = handlers.get(node.type)
            if handler is not None:
                handler(node, above)
            if node.child_count:
                inner = (*above[-3:], node)
                # What has nothing inside it is of interest only as a comment, or as an error.
                stack += [
                    (child, inner)
                    for child in reversed(node.children)
                    if child.child_count or has_error or child.type == "comment"
                ]

    def _spreads(self, node: Node) -> bool:
        """Whether an error may change how the text behind it is read: it has quotes, or goes over lines."""
        text = self.data[node.start_byte : node.end_byte]
        return b"\n" in text or any(quote in text for quote in (b'"', b"'", b"`")) or node.type in _QUOTES

    def _text(self, node: Node) -> str:
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    # --- words ---

    def _word(self, node: Node) -> Word:
        kind, start, end = node.type, node.start_byte, node.end_byte
        text = self.data[start:end]
        if (kind in _PLAIN and not node.child_count and kind not in _QUOTED) and _AS_IT_STANDS(text):
            # Most words: each character is the byte that stands for it.
            first, last = start + self.base, end + self.base
            places = range(first, last + 1)
            return Word(text.decode("ascii"), places[:-1], places[1:], first, last)
        characters: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        variables: list[str] = []
        for character, first, last in self._pieces(node, 0):
            if character == UNKNOWN:
                variables += _variables(self.data[first:last])
            characters.append(character)
            starts.append(first + self.base)
            ends.append(last + self.base)
        return Word(
            "".join(characters),
            tuple(starts),
            tuple(ends),
            start + self.base,
            end + self.base,
            tuple(variables),
            kind in _QUOTED,
        )

    def _pieces(self, node: Node, depth: int) -> Iterator[tuple[str, int, int]]:
        """The characters of a word, with the bytes that stand for each."""
        start, end = node.start_byte, node.end_byte
        if node.type == "raw_string":
            yield from self._plain(start + 1, end - 1, escapes=False)
        elif node.type == "string":
            at = start + 1
            for child in node.children[1:]:
                yield from self._plain(at, child.start_byte, escapes=True)
                if child.type == "string_content":
                    yield from self._plain(child.start_byte, child.end_byte, escapes=True)
                elif child.type != '"':
                    # A blank before an expansion belongs to it, as the grammar has it.
                    text = self.data[child.start_byte : child.end_byte]
                    begin = child.start_byte + len(text) - len(text.lstrip())
                    yield from self._plain(child.start_byte, begin, escapes=True)
                    yield UNKNOWN, begin, child.end_byte
                at = child.end_byte
        elif node.type in ("concatenation", "command_name") and node.child_count and depth < 8:
            at = start
            for child in node.children:
                yield from self._plain(at, child.start_byte, escapes=True)
                yield from self._pieces(child, depth + 1)
                at = child.end_byte
        elif node.type in _PLAIN:
            yield from self._plain(start, end, escapes=True)
        else:
            yield UNKNOWN, start, end

    def _plain(self, start: int, end: int, *, escapes: bool) -> Iterator[tuple[str, int, int]]:
        at = start
        while at < end:
            byte = self.data[at]
            if escapes and byte == 0x5C and at + 1 < end:
                if self.data[at + 1] != 0x0A:
                    yield UNKNOWN if self.data[at + 1] > 0x7F else chr(self.data[at + 1]), at, at + 2
                at += 2
            elif byte < 0x80:
                yield (chr(byte) if byte else " "), at, at + 1
                at += 1
            else:
                length = 1
                while at + length < end and 0x80 <= self.data[at + length] < 0xC0:
                    length += 1
                yield self.data[at : at + length].decode("utf-8", "replace")[:1] or "?", at, at + length
                at += length

    # --- nodes ---

    def _command(self, node: Node, above: tuple[Node, ...]) -> None:
        words = [
            self._word(child)
            for child in node.children
            if child.type != "variable_assignment" and not child.type.endswith("redirect") and child.is_named
        ]
        if not words:
            return
        parent = above[-1] if above else None
        redirected = any(self._is_into_file(child) for child in node.children) or (
            parent is not None
            and parent.type == "redirected_statement"
            and any(self._is_into_file(child) for child in parent.children)
        )
        pipeline = next((one for one in reversed(above[-2:]) if one.type == "pipeline"), None)
        self.script.commands.append(
            Command(
                tuple(words),
                node.start_byte + self.base,
                node.end_byte + self.base,
                redirected,
                self._piped_into(pipeline, node) if pipeline is not None else (),
                (pipeline.end_byte if pipeline is not None else node.end_byte) + self.base,
            )
        )

    def _piped_into(self, pipeline: Node, node: Node) -> tuple[tuple[str, ...], ...]:
        """The next commands of a pipeline; no more of them than anybody asks about, as pipelines may be long."""
        if self.pipeline is None or self.pipeline[0] != pipeline:
            stages = pipeline.named_children
            self.pipeline = pipeline, stages, [stage.start_byte for stage in stages]
        _, stages, starts = self.pipeline
        after = bisect_right(starts, node.start_byte)
        return tuple(
            tuple(self._word(one).value for one in stage.named_children) if stage.type == "command" else ("",)
            for stage in stages[after : after + _STAGES]
        )

    def _is_into_file(self, node: Node) -> bool:
        """Whether a redirection sends the output of a command into a file or a document."""
        if node.type == "heredoc_redirect":
            return True
        return node.type == "file_redirect" and _NOT_INTO_FILE.match(self._text(node)) is None

    def _assignment(self, node: Node, above: tuple[Node, ...]) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None or name.type != "variable_name":
            return
        parent = above[-1] if above else None
        alone = parent is None or parent.type not in ("command", "variable_assignments")
        owner = node
        if parent is not None and parent.type == "declaration_command":
            alone = len(parent.named_children) == 1
            owner = parent if alone else node
        self.script.assignments.append(
            Assignment(
                self._text(name),
                name.start_byte + self.base,
                name.end_byte + self.base,
                self._word(value) if value is not None and value.type != "array" else None,
                (owner.start_byte + self.base, owner.end_byte + self.base),
                alone,
                value is None and self._text(node).endswith("="),
            )
        )

    def _names(self, node: Node, above: tuple[Node, ...]) -> None:
        for child in node.named_children:
            if child.type in ("variable_name", "word") and not self._text(child).startswith("-"):
                self.script.uses.append(
                    Use(self._text(child), child.start_byte + self.base, child.end_byte + self.base)
                )

    def _expansion(self, node: Node, above: tuple[Node, ...]) -> None:
        name = next((child for child in node.named_children if child.type == "variable_name"), None)
        if name is None:
            return
        default = None
        for at, child in enumerate(node.children):
            if child.type in (":-", "-", ":=", "=") and at + 1 < len(node.children):
                after = node.children[at + 1]
                if after.type in _WORDS:
                    default = self._word(after)
        self.script.uses.append(Use(self._text(name), name.start_byte + self.base, name.end_byte + self.base, default))

    def _array(self, node: Node, above: tuple[Node, ...]) -> None:
        self.script.arrays.append([self._word(child) for child in node.named_children if child.type != "comment"])

    def _comparison(self, node: Node, above: tuple[Node, ...]) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        if left is None or right is None or operator is None:
            return
        if self._text(operator) in ("=", "==", "!=", "=~"):
            self.script.comparisons.append(Comparison(self._word(left), self._word(right)))

    def _case(self, node: Node, above: tuple[Node, ...]) -> None:
        value = node.child_by_field_name("value")
        if value is None:
            return
        subject = self._word(value)
        for item in node.named_children:
            if item.type == "case_item":
                for pattern in item.children_by_field_name("value"):
                    self.script.comparisons.append(Comparison(subject, self._word(pattern)))

    def _loop(self, node: Node, above: tuple[Node, ...]) -> None:
        name = node.child_by_field_name("variable")
        if name is not None:
            self.script.loops.extend(
                (self._text(name), self._word(one)) for one in node.children_by_field_name("value")
            )

    def _comment(self, node: Node, above: tuple[Node, ...]) -> None:
        self.script.comments.append((node.start_byte + self.base, node.end_byte + self.base))

    def _redirected(self, node: Node, above: tuple[Node, ...]) -> None:
        document = next((child for child in node.children if child.type == "heredoc_redirect"), None)
        if document is None:
            return
        body = next((child for child in document.children if child.type == "heredoc_body"), None)
        start = next((child for child in document.children if child.type == "heredoc_start"), None)
        if body is None or start is None:
            return
        command = node.child_by_field_name("body")
        words = tuple(self._word(one).value for one in command.named_children) if command is not None else ()
        target = ""
        for redirect in (*node.children, *document.children):
            if redirect.type == "file_redirect":
                destination = redirect.child_by_field_name("destination")
                target = self._word(destination).value if destination is not None else target
        if words[:1] == ("tee",):
            target = words[-1]
        self.script.heredocs.append(
            Heredoc(
                words,
                target,
                body.start_byte + self.base,
                body.end_byte + self.base,
                self._text(start)[:1] in ("'", '"', "\\"),
            )
        )


def _variables(text: bytes) -> list[str]:
    """The variable that an expansion reads; of other things, nothing."""
    name = text.removeprefix(b"$").removeprefix(b"{").removeprefix(b"#").removeprefix(b"!")
    end = 0
    while end < len(name) and (name[end : end + 1].isalnum() or name[end : end + 1] == b"_"):
        end += 1
    return [name[:end].decode("ascii", "replace")] if end and text[:2] != b"$(" else []
