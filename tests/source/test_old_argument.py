"""Files in which only the old name of an argument keeps the running Python from parsing them."""

from __future__ import annotations

import pytest

from npuify.source.python import parses
from npuify.source.python.parse import parse


def test_the_argument_async_of_torch_stands_under_another_name() -> None:
    text = "y = y.cuda(async=True)\nz = f(y.to(0, async = flag), 1)\nw.copy_(y, async=False)\n"
    assert [node.value.end_col_offset for node in parse(text).body[:1]] == [len("y = y.cuda(async=True)")]
    assert parses(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "def move(x, async=False):\n    return x.cuda(async=True)\n",
        "move(x, async=True)\n",
        "x.cuda(async=True)\nprint x\n",
        "async = 1\n",
        "pool.submit(x, async=True)\n",
    ],
)
def test_another_name_async_is_an_error_as_before(text: str) -> None:
    with pytest.raises(SyntaxError):
        parse(text)
    assert not parses(text.encode())
