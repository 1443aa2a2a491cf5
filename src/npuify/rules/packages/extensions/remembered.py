"""Answers that are kept, of questions that may lead back to themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class _Open:
    """The questions that are being answered, shared by what asks each other."""

    def __init__(self) -> None:
        self.now: list[tuple[int, tuple[str, str]]] = []
        self.is_circle = False
        """Whether what was asked since then led back to a question that is open, or used an answer that had."""
        self.forget: list[Callable[[], None]] = []


class Remembered(Generic[T]):
    """Answers by question.

    An answer that leads in a circle is another where the circle is entered elsewhere. Such answers are kept until
    :meth:`begin`, so that none depends on what was asked before.

    Args:
        beside: answers of another kind, whose questions lead to these and back.
    """

    def __init__(self, beside: Remembered[str | None] | None = None) -> None:
        self._known: dict[tuple[str, str], T] = {}
        self._passing: set[tuple[str, str]] = set()
        self._open: _Open = beside._open if beside is not None else _Open()
        self._open.forget.append(self._forget)

    def begin(self) -> None:
        """A question that nothing led to is asked."""
        for forget in self._open.forget:
            forget()
        self._open.is_circle = False

    def _forget(self) -> None:
        for question in self._passing:
            del self._known[question]
        self._passing.clear()

    def of(self, question: tuple[str, str], inside: T, answer: Callable[[], T]) -> T:
        """The answer.

        Args:
            question: what is asked, by place and name.
            inside: what stands for the answer while it is looked for.
            answer: finds it.
        """
        opened, key = self._open, (id(self), question)
        if question in self._known:
            opened.is_circle = opened.is_circle or question in self._passing
            return self._known[question]
        if key in opened.now:
            # What asks for itself alone is no circle: it is entered nowhere else.
            opened.is_circle = opened.is_circle or opened.now[-1] != key
            return inside
        before, opened.is_circle = opened.is_circle, False
        opened.now.append(key)
        try:
            found = self._known[question] = answer()
        finally:
            opened.now.pop()
        if opened.is_circle:
            self._passing.add(question)
        opened.is_circle = opened.is_circle or before
        return found
