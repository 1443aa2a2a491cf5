"""The options with which one project of many is looked at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from npuify.project.config import options_for

if TYPE_CHECKING:
    from npuify.fleet.model import Task
    from npuify.options import Options


def options_of(task: Task, root: Path, *, is_clone: bool) -> Options:
    """What the project says, and what was said for all projects, which counts for more; patterns to exclude add up.

    Raises:
        NpuifyError: the project's settings are wrong.
    """
    options = options_for(root)
    said = dict(task.options)
    exclude = (*options.exclude, *said.pop("exclude", ()))
    options = msgspec.structs.replace(options, **said, exclude=exclude, jobs=1, vendor_reports=None)
    options = msgspec.structs.replace(options, language=task.language)
    if is_clone:
        # Settings of a stranger's project name files of that project alone.
        inside = root.resolve()
        kept = {
            name: tuple(one for one in getattr(options, name) if Path(one).resolve().is_relative_to(inside))
            for name in ("rules", "third_party")
        }
        options = msgspec.structs.replace(options, cache=False, **kept)
    return options
