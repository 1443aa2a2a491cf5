"""From the bytes of a Python file to its text and back, without losing one of them."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from itertools import accumulate

from npuify.language import phrase

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"^[ \t\f]*(?:#.*)?$")
_LINE_END = re.compile(rb"\r\n|\r|\n")


class UnreadableText(Exception):
    """The bytes are not text in the encoding that they claim. ``line`` is 0 where no line can be named."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def declared_encoding(raw: bytes) -> str:
    """The encoding of Python source, by byte order mark and PEP 263 cookie; ``utf-8`` where neither is there.

    Raises:
        UnreadableText: the cookie names an encoding that Python does not know.
    """
    if raw.startswith(codecs.BOM_UTF8):
        return "utf-8"
    for number, line in enumerate(_LINE_END.split(raw[:4096], maxsplit=2)[:2], start=1):
        match = _COOKIE.match(line)
        if match:
            name = match.group(1).decode("ascii", "replace")
            try:
                codec = codecs.lookup(name)
            except LookupError:
                raise UnreadableText(phrase("unknown source encoding {name!r}", name=name), number) from None
            if not codec._is_text_encoding:
                raise UnreadableText(phrase("{name!r} is not an encoding of text", name=name), number)
            return codec.name
        if not _BLANK.match(line):
            break
    return "utf-8"


class Text:
    """The text of one file, with the means to place offsets in it and to write it back.

    Attributes:
        data: the text as UTF-8 without byte order mark. All offsets are offsets into this.
        encoding: the file's own encoding.
    """

    __slots__ = ("_is_ascii", "_line_starts", "_lower", "_string", "data", "encoding", "has_bom")

    def __init__(self, raw: bytes) -> None:
        self.encoding = declared_encoding(raw)
        self.has_bom = raw.startswith(codecs.BOM_UTF8)
        body = raw[len(codecs.BOM_UTF8) :] if self.has_bom else raw
        self._string: str | None = None
        self._lower: bytes | None = None
        self._line_starts: list[int] | None = None
        self._is_ascii = self.encoding in ("utf-8", "ascii") and body.isascii()
        if self._is_ascii:
            # Such text cannot fail to be decoded, and few ask for it as a whole.
            self.data = body
            return
        try:
            self._string = body.decode(self.encoding)
        except UnicodeError as error:
            line = len(_LINE_END.findall(body, 0, error.start)) + 1 if isinstance(error, UnicodeDecodeError) else 0
            raise UnreadableText(phrase("not valid {encoding} text", encoding=self.encoding), line) from None
        if self.encoding in ("utf-8", "ascii"):
            self.data = body
        else:
            self.data = self._string.encode("utf-8", "surrogatepass")
            if self._string.encode(self.encoding) != body:
                raise UnreadableText(
                    phrase(
                        "{encoding} text that does not survive being decoded and encoded again", encoding=self.encoding
                    )
                )

    @property
    def string(self) -> str:
        """The text."""
        if self._string is None:
            self._string = self.data.decode("ascii")
        return self._string

    @property
    def lower(self) -> bytes:
        """``data`` in lower case, made once: words are sought in it again and again."""
        if self._lower is None:
            self._lower = self.data.lower()
        return self._lower

    @property
    def line_starts(self) -> list[int]:
        """Offset of the first byte of each line."""
        if self._line_starts is None:
            if b"\r" in self.data:
                self._line_starts = [0, *(match.end() for match in _LINE_END.finditer(self.data))]
            else:
                lengths = map(len, self.data.split(b"\n"))
                self._line_starts = [0, *accumulate(map((1).__add__, lengths))][:-1]
        return self._line_starts

    def line_of(self, offset: int) -> int:
        """The line, from 1, that holds ``offset``."""
        return bisect_right(self.line_starts, offset)

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1, the column in characters."""
        line = self.line_of(offset)
        start = self.line_starts[line - 1]
        if self._is_ascii:
            return line, offset - start + 1
        return line, len(self.data[start:offset].decode("utf-8", "replace")) + 1

    def offset(self, line: int, column: int) -> int:
        """The offset of a place as :meth:`position` gives it; what lies beyond the line's end counts as its end."""
        start = self.line_starts[line - 1]
        end = self.line_starts[line] if line < len(self.line_starts) else len(self.data)
        return start + len(self.data[start:end].decode("utf-8", "replace")[: column - 1].encode())

    @property
    def newline(self) -> str:
        """The line end that the file uses first, ``\\n`` where it has none."""
        match = _LINE_END.search(self.data)
        return match.group().decode() if match else "\n"

    def encode(self, data: bytes) -> bytes:
        """New UTF-8 text as the bytes to write into this file.

        Raises:
            UnreadableText: the new text has a character that the file's encoding lacks.
        """
        if self.encoding in ("utf-8", "ascii"):
            body = data
        else:
            try:
                body = data.decode("utf-8", "surrogatepass").encode(self.encoding)
            except UnicodeEncodeError as error:
                raise UnreadableText(
                    phrase("the new text has a character that {encoding} lacks", encoding=self.encoding)
                ) from error
        return codecs.BOM_UTF8 + body if self.has_bom else body
