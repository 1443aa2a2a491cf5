"""Signatures of live objects as the text that the tables hold."""

from __future__ import annotations

import enum
from typing import Any

import pytest

from npuify.knowledge.release.signatures import parse_parameters
from npuify.selftest.inside.signature_text import default_text, parameters_of, split_outermost


def _plain(a: int, b: str = "x", *, c: float = 1e-6, **rest: Any) -> None: ...
def _bare(a: object, /, b: object, *args: object, c: object = None) -> None: ...
def _long(a: str = "x" * 100, b: object = object(), c: type = int, d: Any = len) -> None: ...


class _Bound:
    """_Bound(a: int)"""

    def method(self, first: int, second: tuple[int, ...] = (1, 2)) -> None: ...


class _FromCpp:
    """Stands for a function that a C++ binding made: Python cannot see its parameters."""

    __name__ = "made"
    __signature__ = "none"
    __doc__ = (
        "made(self: thing, a: dict[str, int], b: Callable[[int], int] = 3, c: object = <x at 0x1>) -> None\n\nMore."
    )

    def __call__(self) -> None: ...


@pytest.mark.parametrize(
    ("called", "drop_first", "text"),
    [
        (_plain, False, "a,b='x',*,c=1e-06,**rest"),
        (_bare, False, "a,/,b,*args,c=None"),
        (_long, False, "a=...,b=...,c=int,d=..."),
        (_Bound.method, True, "first,second=(1, 2)"),
        (_FromCpp(), False, "a,b=3,c=..."),
        (enum.Enum("Kind", "A"), False, None),
    ],
)
def test_the_text_of_a_signature(called: object, drop_first: bool, text: str | None) -> None:
    if text is None:
        assert "value" in str(parameters_of(called))
    else:
        assert parameters_of(called, drop_first=drop_first) == text
        assert [p.name for p in parse_parameters(text)], "what is written can be read"


def test_nothing_is_made_up_for_what_says_nothing() -> None:
    class Silent:
        __signature__ = "none"
        __name__ = "silent"

        def __call__(self) -> None: ...

    assert parameters_of(Silent()) is None


def test_commas_in_brackets_do_not_split() -> None:
    assert split_outermost("a: dict[str, int], b: (x, y) = (1, 2)") == ["a: dict[str, int]", "b: (x, y) = (1, 2)"]
    assert split_outermost("") == []


def test_defaults_are_the_same_in_every_run() -> None:
    assert default_text(object()) == "..."
    assert default_text(1.5) == "1.5"
    assert default_text(dict) == "dict"
