"""Bytes to text and back: encodings, line ends, places."""

from __future__ import annotations

import codecs

import pytest

from npuify.source.text import Text, UnreadableText, declared_encoding

from ..harness import migrated, worker

PROGRAM = (
    "{cookie}import torch\n"
    "\f\n"
    "s = '{word}'; n = torch.cuda.device_count()  # {word}\n"
    "class A:\n"
    "\tdef f(self):\t \n"
    "\t\treturn '{word}', torch.cuda.current_device(), \\\n"
    "\t\t\ttorch.zeros(1, device='cuda')\n"
    "\n\n"
    "print('{word}'){end}"
)
EXPECTED = (
    PROGRAM.replace("import torch\n", "import torch\nimport torch_npu  # noqa: F401\n")
    .replace("torch.cuda", "torch.npu")
    .replace("'cuda'", "'npu'")
)

ENCODINGS = [
    # codec, cookie, a word, byte order mark
    ("utf-8", "", "naïve 训练 🚀", b""),
    ("utf-8", "", "naïve 训练 🚀", codecs.BOM_UTF8),
    ("utf-8", "# -*- coding: utf-8 -*-\n", "é", codecs.BOM_UTF8),
    ("gbk", "# -*- coding: gbk -*-\n", "训练模型 鱘 俓", b""),
    ("gb18030", "#!/usr/bin/env python\n# vim: set fileencoding=gb18030 :\n", "训练 😀", b""),
    ("shift_jis", "# coding: shift_jis\n", "ソ表 十", b""),
    ("latin-1", "# coding=latin-1\n", "é ÿ \xa0 \x85", b""),
    ("cp1252", "\n# coding: cp1252\n", "€ œ", b""),
    ("ascii", "# coding: ascii\n", "plain", b""),
]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize("end", ["\n", "", "\n\n\t"], ids=["newline", "no-newline", "blanks"])
@pytest.mark.parametrize(("codec", "cookie", "word", "mark"), ENCODINGS, ids=range(len(ENCODINGS)))
def test_only_the_edits_change_bytes(codec: str, cookie: str, word: str, mark: bytes, end: str, newline: str) -> None:
    def raw(template: str) -> bytes:
        return mark + template.format(cookie=cookie, word=word, end=end).replace("\n", newline).encode(codec)

    result = migrated(raw(PROGRAM))
    assert not result.errors
    assert result.raw == raw(EXPECTED)
    assert migrated(raw(EXPECTED)).raw is None


def test_mixed_line_ends_stay() -> None:
    raw = b"import torch\r\na = torch.cuda.device_count()\nb = 1\r\rc = torch.cuda.device_count()\r\n"
    result = migrated(raw)
    assert result.raw == raw.replace(b"torch.cuda", b"torch.npu").replace(
        b"import torch\r\n", b"import torch\r\nimport torch_npu  # noqa: F401\r\n"
    )


def test_import_after_last_line_without_newline() -> None:
    assert migrated(b"x.cuda(); import torch").raw == b"x.npu(); import torch\nimport torch_npu  # noqa: F401"


@pytest.mark.parametrize(
    ("raw", "message", "line"),
    [
        (b"# coding: no-such-codec\nimport torch.cuda\n", "no-such-codec", 1),
        (b"\n# coding: klingon\nimport torch.cuda\n", "klingon", 2),
        (b"import torch\n\nx = '\xff' # torch.cuda\n", "utf-8", 3),
        (b"# coding: ascii\nx = '\xe9' # torch.cuda\n", "ascii", 2),
        (b"# coding: gbk\nx = '\xff\xff' # torch.cuda\n", "gbk", 2),
        (b"# coding: hex\nx = torch.cuda\n", "hex", 1),
        (b"# coding: rot13\nx = torch.cuda\n", "rot13", 1),
        (b"# coding: undefined\nx = torch.cuda\n", "undefined", 0),
        (b"# coding: unicode_escape\nx = '\\u00e9' # torch.cuda\n", "unicode", 0),
        ("import torch; torch.cuda.init()\n".encode("utf-16"), "utf-8", 1),
    ],
)
def test_undecodable_is_an_error_with_its_place(raw: bytes, message: str, line: int) -> None:
    with pytest.raises(UnreadableText, match=message) as caught:
        Text(raw)
    assert caught.value.line == line
    found, errors, _, _ = worker().analyse("a.py", raw)
    assert {finding.code for finding in found} <= {"NPU190"}, "what its tokens show"
    assert [error.file for error in errors] == ["a.py"]
    assert "npuify failed" not in errors[0].message
    assert migrated(raw).raw is None


@pytest.mark.parametrize(
    ("raw", "encoding"),
    [
        (b"", "utf-8"),
        (b"x = 1\n# coding: gbk\n", "utf-8"),
        (b"#!/bin/sh\n#\t coding:gbk\n", "gbk"),
        (b"\f  # vim:fileencoding=gbk\n", "gbk"),
        (b"# one\n# two\n# coding: gbk\n", "utf-8"),
        (b"'coding: gbk'\n", "utf-8"),
        (b"# one\r# coding: gbk\r", "gbk"),
        (codecs.BOM_UTF8 + b"# coding: utf8\n", "utf-8"),
    ],
)
def test_declared_encoding(raw: bytes, encoding: str) -> None:
    assert declared_encoding(raw) == encoding


def test_columns_count_characters() -> None:
    text = Text("a = 1\r\n训练🚀é x\rlast\n".encode())
    for line, row in enumerate(["a = 1", "训练🚀é x", "last"], start=1):
        start = text.line_starts[line - 1]
        for column in range(len(row) + 1):
            assert text.position(start + len(row[:column].encode())) == (line, column + 1)
    assert text.position(len(text.data)) == (4, 1)


def test_finding_in_a_wide_line_has_its_column() -> None:
    line = "s = '训练🚀é'; n = torch.cuda.device_count()"
    (found,) = worker().analyse("a.py", f"import torch\n{line}\n".encode())[0]
    assert (found.start.line, found.start.column) == (2, line.index("torch") + 1)
    assert line[found.start.column - 1 : found.end.column - 1] == "torch.cuda.device_count"


def test_form_feeds_and_unicode_separators_are_no_line_ends() -> None:
    raw = "import torch\n\fx = '\u2028\x0b\x1c\x85'; torch.cuda.init()\n".encode()
    (found,) = worker().analyse("a.py", raw)[0]
    assert found.start.line == 2
    assert Text(raw).line_starts == [0, 13, len(raw)]


def test_new_text_that_the_encoding_lacks_is_refused() -> None:
    text = Text(b"# coding: latin-1\nx = 1\n")
    with pytest.raises(UnreadableText, match="iso8859-1"):
        text.encode("# coding: latin-1\nx = '训'\n".encode())
