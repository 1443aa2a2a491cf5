"""Parse a file of the project so that its names can be followed into the project's other files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.analysis.project import module_name
from npuify.source.python import PythonSource

if TYPE_CHECKING:
    from npuify.analysis.project import ProjectIndex
    from npuify.knowledge import ReleaseTable
    from npuify.rules.run import Run
    from npuify.source.text import Text
    from npuify.words import Words


def parse_file(relative: str, text: Text, run: Run, words: Words | None = None) -> PythonSource:
    """A Python file; see :class:`npuify.source.python.PythonSource` for ``words`` and the errors raised."""
    known = KnownNames(run.project, run.release)
    return PythonSource(relative, module_name(relative), text, words, reexport=run.project.reexport, star_has=known)


class KnownNames:
    """Whether a release, for torch, or the project has a qualified name: what star imports bring.

    It does not hold the file whose names it tells: such a ring would keep the trees of all files alive.
    """

    def __init__(self, project: ProjectIndex, release: ReleaseTable) -> None:
        self.project = project
        self.release = release

    def __call__(self, name: str) -> bool:
        if name.startswith("torch."):
            return self.release.counterpart(name) is not None
        return self.project.provides(name)
