"""Parse without showing the warnings that Python has of what it parses (an invalid escape, ``is`` with a literal)."""

from __future__ import annotations

import contextlib
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def _ignoring_all() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


_NOTHING = contextlib.nullcontext()


def without_warnings() -> contextlib.AbstractContextManager[None]:
    """Without what Python warns of while it parses.

    Costs nothing inside another one: setting filters up for each file by itself would take as long as its search.
    """
    first = warnings.filters[0][:3] if warnings.filters else None
    return _NOTHING if first == ("ignore", None, Warning) else _ignoring_all()
