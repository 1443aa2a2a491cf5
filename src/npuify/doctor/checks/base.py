"""A check is one function with a stable name; being defined registers it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from npuify.model import Evidence
from npuify.report.doctor import Result, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from npuify.doctor.facts import Facts
    from npuify.report.doctor import Mend

    Judge = Callable[[Facts], Iterator[Result]]


class Registered(NamedTuple):
    """A check as it is run."""

    name: str
    title: str
    after: tuple[str, ...]
    judge: Judge
    needs: Callable[[Facts], bool] | None = None
    """Whether what it judges by is known; otherwise it is skipped rather than passed."""
    live: bool = False
    """Whether it judges by a shell or by commands, which files alone do not tell."""


_checks: dict[str, Registered] = {}


def check(
    name: str,
    title: str,
    *,
    after: tuple[str, ...] = (),
    needs: Callable[[Facts], bool] | None = None,
    live: bool = False,
) -> Callable[[Judge], Judge]:
    """Register a function that yields a result for each thing that is wrong, and nothing where all is well.

    Args:
        name: stable: scripts filter by it.
        title: what is checked, for people.
        after: checks whose errors make this one senseless: it is then skipped, so that one fault is told once.
        needs: whether what it judges by is known. Where it is not, the check counts as skipped.
        live: it judges by a shell or by commands: skipped where only files are given.
    """

    def register(judge: Judge) -> Judge:
        if name in _checks:
            raise ValueError(f"two checks are called {name}")
        _checks[name] = Registered(name, title, after, judge, needs, live)
        return judge

    return register


def registered() -> tuple[Registered, ...]:
    """Every check of the modules that were imported, as they are run: those that others wait for come first."""
    ordered: dict[str, Registered] = {}

    def add(name: str) -> None:
        if name in ordered or name not in _checks:
            return
        for earlier in _checks[name].after:
            add(earlier)
        ordered[name] = _checks[name]

    for name in _checks:
        add(name)
    return tuple(ordered.values())


def result(
    check: str,
    status: Status,
    message: str,
    *,
    advice: str = "",
    mend: Mend | None = None,
    evidence: Evidence = Evidence.DOCUMENTED,
    source: str = "",
) -> Result:
    """A result; a short name for what every check writes."""
    return Result(
        check=check, status=status, message=message, advice=advice, mend=mend, evidence=evidence, source=source
    )
