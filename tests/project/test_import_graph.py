"""What the text of a file imports."""

from __future__ import annotations

import pytest

from npuify.project.import_graph import imports_of


@pytest.mark.parametrize(
    ("text", "absolute"),
    [
        ("import a\nimport b.c as d, e\n", ("a", "b.c", "e")),
        ("import os; import pynvml\n", ("os", "pynvml")),
        ("from a import b; from c import (d,\n    e);import f\nimport g", ("a", "a.b", "c", "c.d", "c.e", "f", "g")),
        ("from a import b  # import c; import d\n", ("a", "a.b")),
        ("x = 1; import a\n", ()),
        ("import a;\nimport b", ("a", "b")),
    ],
)
def test_what_is_imported(text: str, absolute: tuple[str, ...]) -> None:
    assert imports_of(text.encode()).absolute == absolute


def test_statements_of_a_line_share_its_number() -> None:
    found = imports_of(b"\n\ndef f():\n    import a; import b\nimport c\n").statements
    assert [(one.line, one.is_indented) for one in found] == [(4, True), (4, True), (5, False)]
