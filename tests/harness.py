"""Run the engine on one text, as a project of one file."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npuify.analysis.own_cuda import may_define_cuda
from npuify.analysis.project import ProjectIndex
from npuify.engine.ruleset import RuleSet
from npuify.engine.worker import Worker
from npuify.helpers import compute_device as helper
from npuify.model import EntryPoint, Mention, Survey
from npuify.options import Options
from npuify.project import TorchRequirement
from npuify.project.frameworks.tensorflow import Marks, marks_of
from npuify.rewrite.fixpoint import MigratedFile, migrate_file
from npuify.rules.opt_ins import OptIns, ReplacedExtension
from npuify.rules.selection import Selection
from npuify.rules.style_plan import StylePlan
from npuify.styles.project import plan_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from npuify.model import Finding

RELEASE = "2.14.0"


def for_each(
    cases: Sequence[tuple[Any, ...]], ids: Sequence[str]
) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """One test of many small cases, which names each that fails: for thousands of them pytest takes longer than they do."""

    def decorated(test: Callable[..., None]) -> Callable[[], None]:
        def all_of_them() -> None:
            failed = []
            for name, case in zip(ids, cases, strict=True):
                try:
                    test(*case)
                except Exception as error:
                    failed.append(f"{name}: {type(error).__name__}: {error}")
            assert not failed, "\n\n".join([f"{len(failed)} of {len(cases)} fail", *failed])

        all_of_them.__name__, all_of_them.__doc__ = test.__name__, test.__doc__
        all_of_them.__module__ = test.__module__
        return all_of_them

    return decorated


OPT_INS = OptIns(
    cpu_fallback=True,
    replace_unsupported=True,
    replace_kernels=True,
    extensions=(
        ReplacedExtension(
            "upfirdn2d_ext", "upfirdn2d_ext", (("upfirdn2d", "upfirdn2d", "upfirdn2d"),), files=("program.py",)
        ),
    ),
)
"""Everything that changes code only where it is asked for, so that its rules are tested like the others."""


def style_plan(
    contents: Mapping[str, bytes], style: str, *, place: bool = False, torch: str = ">=2.1", release: str = RELEASE
) -> StylePlan:
    """The plan for a project of these files, each of which is started, and which asks for ``torch``."""
    points = tuple(EntryPoint(name, (Mention("main guard", name, 1),)) for name in sorted(contents))
    requirement = TorchRequirement(torch, "requirements.txt", 1) if torch else None
    options = Options(style=style, place_on_npu=place)
    if any(b"compute_device.type" in raw for raw in contents.values()):
        contents = {**contents, "compute_device.py": helper.text()}  # it is there where code asks for it
    return plan_of(options, contents, Survey(entry_points=points), requirement)


def worker(
    root: Path | None = None,
    release: str = RELEASE,
    select: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
    plan: StylePlan | None = None,
    soc: str = "",
    tensorflow: str = "",
) -> Worker:
    """A worker for the files under ``root``; for no files at all without it."""
    if root is None:
        if plan is not None:
            selection = Selection(select, ignore)
            index = ProjectIndex(Path("/nowhere"), [], [])
            rules = prepared(selection, plan.style, plan.place_on_npu, soc)
            return Worker(release, selection, index, plan, soc, rules, tensorflow=tensorflow)
        return _bare(release, select, ignore, soc, tensorflow)
    files = sorted(path.relative_to(root).as_posix() for path in root.rglob("*.py"))
    own = [name for name in files if may_define_cuda((root / name).read_bytes(), (root / name).read_bytes().lower())]
    plan, selection = plan or StylePlan(), Selection(select, ignore, OPT_INS)
    texts = [(root / name).read_bytes() for name in files]
    is_for_tensorflow = any(b"import tensorflow" in raw for raw in texts) and not any(b"torch" in raw for raw in texts)
    marks = marks_of(root, files) if is_for_tensorflow else Marks()
    index = ProjectIndex(root, files, own, on_tensorflow="alone" if is_for_tensorflow else "", tensorflow_marks=marks)
    rules = prepared(selection, plan.style, plan.place_on_npu, soc)
    return Worker(release, selection, index, plan, soc, rules, tensorflow=tensorflow)


@cache
def prepared(selection: Selection, style: str, place: bool, soc: str) -> RuleSet:
    """The rules, prepared once: that takes much longer than looking at a small file."""
    return RuleSet(selection, style, place_on_npu=place, soc=soc)


@cache
def _bare(release: str, select: tuple[str, ...], ignore: tuple[str, ...], soc: str, tensorflow: str) -> Worker:
    index = ProjectIndex(Path("/nowhere"), [], [])
    return Worker(release, Selection(select, ignore, OPT_INS), index, soc=soc, tensorflow=tensorflow)


def migrated(
    text: str | bytes,
    *,
    unsafe: bool = False,
    root: Path | None = None,
    name: str = "program.py",
    release: str = RELEASE,
    style: str = "npu",
    place: bool = False,
    torch: str = ">=2.1",
    tensorflow: str = "",
    soc: str = "",
) -> MigratedFile:
    """The outcome of migrating ``text``. Errors of the engine fail the test."""
    raw = text if isinstance(text, bytes) else text.encode()
    plan = None
    if style != "npu" or place:
        plan = style_plan({name: raw}, style, place=place, torch=torch, release=release)
    if root is None and may_define_cuda(raw, raw.lower()):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / name).write_bytes(raw)
            return migrate_file(
                name, raw, worker(Path(folder), release, plan=plan, soc=soc, tensorflow=tensorflow), unsafe=unsafe
            )
    return migrate_file(name, raw, worker(root, release, plan=plan, soc=soc, tensorflow=tensorflow), unsafe=unsafe)


def output(
    text: str,
    *,
    unsafe: bool = False,
    root: Path | None = None,
    name: str = "program.py",
    release: str = RELEASE,
    style: str = "npu",
    place: bool = False,
    torch: str = ">=2.1",
    tensorflow: str = "",
    soc: str = "",
) -> str:
    """The migrated text."""
    result = migrated(
        text,
        unsafe=unsafe,
        root=root,
        name=name,
        release=release,
        style=style,
        place=place,
        torch=torch,
        tensorflow=tensorflow,
        soc=soc,
    )
    assert not result.errors, result.errors
    return text if result.raw is None else result.raw.decode()


def findings(
    text: str | bytes,
    *,
    root: Path | None = None,
    name: str = "program.py",
    release: str = RELEASE,
    style: str = "npu",
    place: bool = False,
    torch: str = ">=2.1",
    soc: str = "",
    tensorflow: str = "",
) -> list[Finding]:
    """All findings in ``text``."""
    raw = text if isinstance(text, bytes) else text.encode()
    plan = None
    if style != "npu" or place:
        plan = style_plan({name: raw}, style, place=place, torch=torch, release=release)
    found, errors, _, _ = worker(root, release, plan=plan, soc=soc, tensorflow=tensorflow).analyse(name, raw)
    assert not errors, errors
    return found


def codes(text: str, *, root: Path | None = None, release: str = RELEASE, soc: str = "") -> list[str]:
    """The codes of all findings, in order of place."""
    return [finding.code for finding in findings(text, root=root, release=release, soc=soc)]
