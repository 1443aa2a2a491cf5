"""Packages that an area of rules takes out of a file whole, so that nothing has to be said of their import."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from npuify.rules.context import PythonFile

    Question = Callable[[PythonFile], bool]

_QUESTIONS: dict[str, Question] = {}


def settles(package: str) -> Callable[[Question], Question]:
    """Register who tells whether safe edits leave nothing of a package in a file."""

    def registered(question: Question) -> Question:
        _QUESTIONS[package] = question
        return question

    return registered


def is_settled(package: str, file: PythonFile) -> bool:
    """Whether safe edits take a package out of the file."""
    question = _QUESTIONS.get(package)
    return question is not None and question(file)
