"""What whoever looks at one file is given beside the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from npuify.rules.program_options import ProgramOptions
    from npuify.rules.run import Analyse, Run


class Job(NamedTuple):
    """What whoever looks at one file of any kind is given beside the file.

    Attributes:
        run: what the run is about; its project notes the files that what is found depends on.
        analyse: shows a part of the file to the rules of another kind of file.
        options: gives what the project's programs declare as options.
        needs_torch_npu: earlier edits put names into the file that exist only after ``import torch_npu``.
        is_later_round: edits of this run were applied to the file already.
        keeps_ledger: every place that concerns CUDA is to be accounted for.
    """

    run: Run
    analyse: Analyse
    options: Callable[[], ProgramOptions]
    needs_torch_npu: bool = False
    is_later_round: bool = False
    keeps_ledger: bool = False
