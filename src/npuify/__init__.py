"""npuify moves a CUDA project to Huawei's Ascend NPU.

The public API. Nothing heavy is imported before it is used, and torch never is.

>>> from pathlib import Path
>>> import npuify
>>> result = npuify.scan([Path("my_project")])  # doctest: +SKIP
>>> npuify.migrate(Path("my_project"), Path("my_project_npu"))  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import Any

    from npuify.analysis.explained.rows import Row
    from npuify.diagnosis.model import Diagnosis
    from npuify.model import Explanation, MigrationResult, ScanResult
    from npuify.options import Options
    from npuify.report.doctor import Report

__all__ = ["__version__", "check_environment", "diagnose", "explain", "explain_place", "migrate", "scan"]


def scan(
    paths: Sequence[Path],
    options: Options | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
    preparing: Callable[[int, int], None] | None = None,
) -> ScanResult:
    """Find what stands in the way of running a project on an NPU; see :func:`npuify.engine.scan.scan`.

    Where nothing has changed since the last such scan, its result is that of this one.
    """
    from npuify.engine.kept.last_result import last_result
    from npuify.language import speaking
    from npuify.options import Options

    options = options or Options()
    with speaking(options.language):
        known = last_result(paths, options)
    if known is not None:
        return known
    # Only now: to import all rules takes longer than to read a result that is known.
    from npuify.engine.scan import scan as run

    return run(paths, options, progress=progress, preparing=preparing)


def migrate(
    source: Path,
    destination: Path | None = None,
    options: Options | None = None,
    *,
    mode: str = "copy",
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
    preparing: Callable[[int, int], None] | None = None,
) -> MigrationResult:
    """Migrate a project; see :func:`npuify.migration.migrate`."""
    from npuify.migration import migrate as run
    from npuify.options import Options

    return run(
        source, destination, options or Options(), mode=mode, force=force, progress=progress, preparing=preparing
    )


def explain(what: str, *, torch_npu: str | None = None) -> Explanation:
    """Explain a rule's code or name, or a CUDA or NPU name; see :func:`npuify.api.explain`."""
    from npuify.api import explain as run

    return run(what, torch_npu=torch_npu)


def explain_place(file: Path, line: int, column: int | None = None, *, project: Path | None = None) -> tuple[Row, ...]:
    """What the program model knows of a place; see :func:`npuify.analysis.explained.place.explain_file`."""
    from npuify.analysis.explained.place import explain_file as run

    return run(file, line, column, project)


def check_environment(
    *,
    project: Path | None = None,
    capture: Path | None = None,
    captured: Path | None = None,
    root: Path | None = None,
    python: str | None = None,
    smoke: bool = True,
) -> Report:
    """Whether a machine can run programs on its NPUs; see :func:`npuify.doctor.examine.check_environment`."""
    from npuify.doctor.examine import check_environment as run

    return run(project=project, capture=capture, captured=captured, root=root, python=python, smoke=smoke)


def diagnose(logs: Sequence[Path], *, project: Path | None = None) -> Diagnosis:
    """Why a run failed, from its logs; see :func:`npuify.diagnosis.run.diagnose`."""
    from npuify.diagnosis.run import diagnose as run

    return run(logs, project=project)


def load_ipython_extension(ipython: Any) -> None:
    """``%load_ext npuify`` in a notebook: CUDA's names mean the NPU from then on; see :mod:`npuify.run.notebook`."""
    from npuify.run.notebook import load

    load(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """``%unload_ext npuify``: nothing can be undone, which is said."""
    from npuify.run.notebook import unload

    unload(ipython)
