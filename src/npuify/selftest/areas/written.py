"""What rules write: the example of each, in each style, as the engine makes it for a release."""

from __future__ import annotations

import re
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from npuify.analysis.project import ProjectIndex
from npuify.engine.catalog import all_rules
from npuify.engine.ruleset import RuleSet
from npuify.engine.worker import Worker
from npuify.model import EntryPoint, Mention, Safety, Survey
from npuify.options import Options
from npuify.project import TorchRequirement
from npuify.rewrite.fixpoint import migrate_file
from npuify.rules.opt_ins import OptIns
from npuify.rules.selection import Selection
from npuify.selftest.areas.form import Form
from npuify.styles.project import plan_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.release.table import ReleaseTable
    from npuify.rules.registry import Rule

STYLES = ("npu", "portable", "auto")
_SELECTION = Selection((), (), OptIns(cpu_fallback=True, replace_unsupported=True, replace_kernels=True))


def examples() -> Iterator[tuple[str, Rule, str, str, dict[str, str]]]:
    """Each rule that edits, by code: what stands under Before and After, and the files beside it."""
    for code, rule in sorted(all_rules().items()):
        before, after = rule.example("Before"), rule.example("After")
        if before is None or after is None:
            continue
        names = re.findall(r"^With (\S+)::$", rule.documentation, re.MULTILINE)
        yield code, rule, before, after, {name: rule.example(f"With {name}") or "" for name in names}


def written(table: ReleaseTable) -> Iterator[Form]:
    """The form of each rule that edits Python, in each style that changes its example."""
    for code, rule, before, after, others in examples():
        own = rule.style or "npu"
        yield Form(f"{code}/{own}", before, after, rule.example_file, others)
        if not rule.example_file.endswith(".py") or rule.place_on_npu:
            continue
        for style in STYLES[1:]:
            made = in_style(before, rule.example_file, style, table, unsafe=rule.safety is Safety.REVIEW)
            if made != before and style != own:
                yield Form(f"{code}/{style}", before, made, rule.example_file, others)


def in_style(before: str, name: str, style: str, table: ReleaseTable, *, unsafe: bool) -> str:
    """What becomes of a program that is a project by itself.

    Args:
        before: its text; name: of its file.
        unsafe: also apply the edits that need a look.
    """
    raw = before.encode()
    survey = Survey(entry_points=(EntryPoint(name, (Mention("main guard", name, 1),)),))
    plan = plan_of(Options(style=style), {name: raw}, survey, TorchRequirement(">=2.1", "requirements.txt", 1))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, name).parent.mkdir(parents=True, exist_ok=True)
        Path(folder, name).write_bytes(raw)
        worker = Worker(
            table.torch_npu, _SELECTION, ProjectIndex(Path(folder), [name], []), plan, "", _rules(style), tensorflow=""
        )
        result = migrate_file(name, raw, worker, unsafe=unsafe)
    return before if result.raw is None else result.raw.decode()


@lru_cache
def _rules(style: str) -> RuleSet:
    return RuleSet(_SELECTION, style, place_on_npu=False, soc="")
