"""Marks for the real profiler."""

from __future__ import annotations

import itertools
from typing import Any

_numbers = itertools.count(1)


class mstx:  # noqa: N801 - its name in torch_npu
    """Ranges and moments with a name; nothing reads them here."""

    @staticmethod
    def mark(message: str, stream: Any = None, domain: str = "default") -> None:
        """A moment."""

    @staticmethod
    def range_start(message: str, stream: Any = None, domain: str = "default") -> int:
        """The beginning of a range; gives its number."""
        return next(_numbers)

    @staticmethod
    def range_end(range_id: int, domain: str = "default") -> None:
        """The end of a range."""

    @staticmethod
    def range_push(message: str, stream: Any = None, domain: str = "default") -> int:
        """The beginning of a range inside of others; -1, as where no profiler listens."""
        return -1

    @staticmethod
    def range_pop(domain: str = "default") -> int:
        """The end of the innermost range; -1, as where no profiler listens."""
        return -1

    @staticmethod
    def mstx_range(message: str, stream: Any = None, domain: str = "default") -> Any:
        """A decorator for functions that are a range."""

        def wrap(function: Any) -> Any:
            return function

        return wrap

    class annotate:  # noqa: N801 - its name in torch_npu
        """A range as a context, or around a function."""

        def __init__(self, message: str = "", stream: Any = None, domain: str = "default") -> None:
            self.message, self.stream, self.domain = message, stream, domain

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *error: object) -> None:
            return None

        def __call__(self, function: Any) -> Any:
            return function
