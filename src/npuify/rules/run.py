"""What a run is about, the same for every file, and how a part of a file is shown to the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from npuify.knowledge.frameworks.vllm import VllmAim
from npuify.rules.style_plan import StylePlan

if TYPE_CHECKING:
    from npuify.analysis.model import Models
    from npuify.analysis.project import ProjectIndex
    from npuify.knowledge import Product, ReleaseTable
    from npuify.model import FileError, Finding, LedgerEntry


class Run(NamedTuple):
    """What a run is about.

    Attributes:
        release: names and facts of the torch_npu release aimed at.
        project: the project's files; it notes which of them an answer depends on.
        models: what is known of the project's programs.
        plan: the style of the run.
        vllm: the vLLM aimed at.
        soc: the kind of chip aimed at, a name in ``npuify.knowledge.products()``; empty means any.
        tensorflow: the line of TensorFlow aimed at, ``1`` or ``2``; empty where the project leaves it open.
    """

    release: ReleaseTable
    project: ProjectIndex
    models: Models
    plan: StylePlan = StylePlan()
    soc: str = ""
    vllm: VllmAim = VllmAim()
    tensorflow: str = ""

    def tensorflow_at(self, relative: str) -> str:
        """The line of TensorFlow aimed at in a file: what its folder asks for, else the project; empty where open."""
        for folder, line in self.project.tensorflow_marks.folders:
            if relative.startswith(f"{folder}/"):
                return line
        return self.tensorflow

    def tensorflow_around(self, relative: str) -> str:
        """The line aimed at in a file, else the one that most files of the project, or its folder, are written for."""
        marks = self.project.tensorflow_marks
        if any(relative.startswith(f"{folder}/") for folder, _ in marks.folders):
            return self.tensorflow_at(relative)
        return self.tensorflow or marks.line

    @property
    def product(self) -> Product | None:
        """The kind of chip aimed at; None where any is."""
        if not self.soc:
            return None
        from npuify.knowledge import products

        return products()[self.soc]


class Result(NamedTuple):
    """What was found in a file, what of it could not be treated, the other files that this depends on, and its ledger.

    The ledger is kept only where :class:`Analyse` was asked for it.
    """

    findings: list[Finding]
    errors: list[FileError] = []  # noqa: RUF012 - nobody adds to it
    dependencies: frozenset[str] = frozenset()
    ledger: list[LedgerEntry] = []  # noqa: RUF012 - nobody adds to it


class Analyse(Protocol):
    """Shows a text, as a file of the project or a part of one, to the rules."""

    def __call__(
        self,
        relative: str,
        raw: bytes,
        *,
        kind: str = "",
        needs_torch_npu: bool = False,
        whole: bool = True,
        is_later_round: bool = False,
    ) -> Result:
        """What is found; the arguments are those of :meth:`npuify.engine.worker.Worker.analyse`."""
