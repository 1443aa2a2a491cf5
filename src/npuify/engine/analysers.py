"""Who looks at the files of a project besides the rules for Python: a registry by kind of file.

A module of ``MODULES`` has a variable ``ANALYSER``, or several in ``ANALYSERS``. Python files are shown to the rules in
any case; one may be shown to an analyser as well, as setup.py is.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from npuify.project.kinds import kind_of_path

if TYPE_CHECKING:
    from npuify.rules.job import Job
    from npuify.rules.run import Result
    from npuify.source.text import Text

MODULES = (
    "rules.packages.dependencies",
    "engine.text_files.analyser",
    "rules.environment.line_ends",
    "engine.notebooks.analyser",
    "rules.packages.extensions.cmake",
)


class Analyser(Protocol):
    """Looks at files of some kinds."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of files, as ``find_files`` names them, among which are those that it wants."""

    def takes(self, relative: str, kind: str) -> bool:
        """Whether it wants the file at ``relative``, by its name alone: called for every file of a project."""

    def may_concern(self, lower: bytes) -> bool:
        """Whether a file with these bytes, turned to lower case, can hold anything for it."""

    def findings(self, relative: str, kind: str, text: Text, job: Job) -> Result:
        """What it finds, of all rules, and what of the file could not be treated.

        Findings that are not selected, or silenced, are left out by the caller.
        """

    def is_valid(self, relative: str, kind: str, data: bytes) -> bool:
        """Whether an edited text, as UTF-8, is still a file of its format."""


@cache
def analysers() -> tuple[Analyser, ...]:
    """Every analyser."""
    found: list[Analyser] = []
    for name in MODULES:
        module = import_module(f"npuify.{name}")
        found += getattr(module, "ANALYSERS", None) or [module.ANALYSER]
    return tuple(found)


@lru_cache(maxsize=20_000)
def analysers_for(relative: str, kind: str = "") -> tuple[Analyser, ...]:
    """The analysers that want a file; ``kind`` is found by the file's name where it is not given."""
    kind = kind or kind_of_path(relative)
    return tuple(analyser for analyser in analysers() if analyser.takes(relative, kind))


def kinds() -> tuple[str, ...]:
    """The kinds of files in which any analyser takes an interest."""
    return tuple(sorted({kind for analyser in analysers() for kind in analyser.kinds}))
