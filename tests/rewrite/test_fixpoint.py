"""One file, round by round, until nothing changes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import pytest

from npuify.engine.catalog import all_rules
from npuify.engine.worker import Worker, parses
from npuify.model import Edit, Evidence, Position, Safety, Severity
from npuify.options import Options
from npuify.rewrite import fixpoint, plan
from npuify.rewrite.fixpoint import migrate_file
from npuify.rules import registry as base

from ..harness import findings, migrated, worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from npuify.model import Finding
    from npuify.rules.context import PythonFile

pytestmark = pytest.mark.core


def fake_rule(monkeypatch: pytest.MonkeyPatch, check: Callable[..., Iterator[Finding]]) -> object:
    """A worker that runs only ``check``, which sees the module."""
    made = base.Rule(
        "NPU999", "fake", Safety.SAFE, Severity.ERROR, Evidence.LIVE, "", (), (ast.Module,), check
    )  # fmt: skip
    all_rules()
    monkeypatch.setitem(base._registry, "NPU999", made)
    worker.__globals__["_bare"].cache_clear()
    return worker(select=("NPU999",))


def test_edits_inside_edits_settle() -> None:
    result = migrated(
        "import torch\nx = torch.zeros(torch.cuda.device_count(), device=f(torch.device('cuda')).cuda())\n"
    )
    assert result.raw is not None
    assert b"cuda" not in result.raw
    assert not result.left


def test_changes_have_places_and_text_of_the_original() -> None:
    text = "import torch\nx = '训'; n = torch.cuda.device_count(); torch.nn.Linear(1, 1).cuda()\ny = f'{torch.cuda.device_count()}'\n"
    result = migrated(text)
    lines = text.splitlines()
    renamed = [change for change in result.changes if change.before]
    assert [change.before for change in renamed] == ["cuda", "cuda", "cuda"]
    for change in renamed:
        assert change.start.line == change.end.line
        line = lines[change.start.line - 1]
        assert line[change.start.column - 1 : change.end.column - 1] == "cuda"
    (added,) = [change for change in result.changes if not change.before]
    assert (added.code, added.start.line, added.after) == ("NPU100", 2, "import torch_npu  # noqa: F401\n")


def test_an_edit_beside_it_does_not_take_an_offered_edit_away() -> None:
    text = "import torch\n\n\ndef run(x, impl='cuda'):\n    # été\n    if impl == 'cuda' and x.device.type == 'cuda':\n        return x\n"
    result = migrated(text)
    assert result.raw is not None
    assert b"if impl == 'cuda' and x.device.type == 'npu':" in result.raw
    offered = [finding for finding in result.left if finding.edits]
    assert [(finding.code, finding.safety, finding.start.line) for finding in offered] == [
        ("NPU120", Safety.REVIEW, 4),
        ("NPU120", Safety.REVIEW, 6),
    ]
    assert not any("already" in finding.message for finding in result.left)
    for finding in offered:
        (edit,) = finding.edits
        assert result.raw[edit.start : edit.end].decode() == edit.before == "cuda"


def test_an_edit_that_was_made_is_not_offered_again() -> None:
    result = migrated("import torch\nmajor, minor = torch.cuda.get_device_capability()\n")
    assert result.raw is not None
    assert b"or (0, 0)" in result.raw
    assert [(finding.code, finding.edits) for finding in result.left] == [("NPU130", ())]


def test_places_of_later_rounds_are_those_of_the_original() -> None:
    text = "import torch\nfrom torch.cuda.amp import GradScaler, autocast\nx = 1\ntorch.cuda.synchronize()\n"
    result = migrated(text)
    assert {change.start.line for change in result.changes} == {2, 4}


def test_left_findings_have_places_of_the_new_text() -> None:
    result = migrated("import torch\ntorch.cuda.synchronize()\nx = torch.jit.script(f)\n")
    assert [(finding.code, finding.start.line) for finding in result.left] == [("NPU401", 4)]
    assert [(finding.code, finding.start.line) for finding in result.found if finding.code == "NPU401"] == [
        ("NPU401", 3)
    ]


def test_broken_file_is_left_and_searched() -> None:
    result = migrated("import torch\nx = torch.cuda.device_count(\n")
    assert result.raw is None
    assert [finding.code for finding in result.left] == ["NPU190"]
    assert len(result.errors) == 1


def test_a_part_that_is_broken_keeps_the_file_from_being_edited() -> None:
    """Only the functions that name CUDA are parsed for a scan; the rest decides as well."""
    result = migrated("import torch\ndef f():\n    torch.cuda.init()\n\ndef g():\n    x = = 1\n")
    assert result.raw is None
    assert result.errors


def test_edit_that_breaks_the_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(node: ast.Module, file: PythonFile) -> Iterator[Finding]:
        yield file.report((0, 1), "m", edits=[file.edit(0, 1, "(")])

    result = migrate_file("a.py", b"x = 1\n", fake_rule(monkeypatch, check), unsafe=False)  # type: ignore[arg-type]
    assert result.raw is None
    assert "would not parse" in result.errors[0].message
    assert not result.changes


def test_edit_for_other_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(node: ast.Module, file: PythonFile) -> Iterator[Finding]:
        yield file.report((0, 1), "m", edits=[Edit(0, 1, "y", "z")])

    result = migrate_file("a.py", b"x = 1\n", fake_rule(monkeypatch, check), unsafe=False)  # type: ignore[arg-type]
    assert result.raw is None
    assert "is not 'y'" in result.errors[0].message


def test_edits_that_never_settle_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(node: ast.Module, file: PythonFile) -> Iterator[Finding]:
        yield file.report((0, 1), "m", edits=[file.edit(0, 1, "y" if file.code(node.body[0]) == "x" else "x")])

    result = migrate_file("a.py", b"x\n", fake_rule(monkeypatch, check), unsafe=False)  # type: ignore[arg-type]
    assert result.raw is None
    assert str(fixpoint.MAX_ROUNDS) in result.errors[0].message


def test_edit_that_the_encoding_lacks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(node: ast.Module, file: PythonFile) -> Iterator[Finding]:
        start = file.source.start(node.body[0])
        yield file.report(node.body[0], "m", edits=[file.edit(start, start + 1, "训")])

    raw = b"# coding: latin-1\nx = '\xe9'\n"
    result = migrate_file("a.py", raw, fake_rule(monkeypatch, check), unsafe=False)  # type: ignore[arg-type]
    assert result.raw is None
    assert "lacks" in result.errors[0].message


def test_review_edits_only_when_asked() -> None:
    text = "import torch\nhandle = torch.cuda.current_stream().cuda_stream\n"
    safe, unsafe = migrated(text), migrated(text, unsafe=True)
    assert safe.raw is not None and b".cuda_stream" in safe.raw
    assert unsafe.raw is not None and b".npu_stream" in unsafe.raw
    assert [finding.safety for finding in safe.left] == [Safety.REVIEW]


@pytest.mark.parametrize(
    ("data", "good"),
    [
        (b"", True),
        (b"x = 1", True),
        (b"x = '\\d'\n", True),
        (b"x = (\n", False),
        (b"x = 1\0\n", False),
        (b"(" * 5000 + b")" * 5000, False),
        ("x = '训'".encode(), True),
        (b"x = '\xed\xa0\x80'", False),
    ],
)
def test_parses(data: bytes, good: bool) -> None:
    assert parses(data) is good


def test_position_of_an_untouched_file() -> None:
    result = migrated("x = 1\n")
    assert result[:7] == (result.relative, None, [], [], [], [], [])
    assert Position(1, 1) < Position(1, 2)


COLLATE = """\
import torch
from torch.utils.data import DataLoader
def collate(batch):
    return torch.stack(batch).cuda()
def load(data):
    return DataLoader(data, num_workers=4, collate_fn=collate)
"""


@pytest.mark.parametrize("style", ["npu", "portable", "auto"])
@pytest.mark.parametrize(
    ("code", "text"),
    [
        (
            "NPU311",
            "import torch\nimport torch.distributed as dist\ndist.init_process_group('nccl')\ntorch.cuda.set_device(n)\n",
        ),
        (
            "NPU312",
            "import os\nimport torch\nrank = int(os.environ['RANK'])\na = torch.device('cuda', rank)\n",
        ),
        ("NPU312", "import os\nimport torch\nrank = int(os.environ['RANK'])\na = torch.device(f'cuda:{rank}')\n"),
        ("NPU312", "import torch\nimport torch.distributed as dist\nx = torch.ones(1).cuda(dist.get_rank())\n"),
        (
            "NPU320",
            "import pytorch_lightning as pl\nimport torch\nt = pl.Trainer(accelerator='cuda')\nx = torch.ones(1).cuda()\n",
        ),
        ("NPU815", "import torch\ntorch.cuda.manual_seed(0)\nx = torch.ones(1).cuda()\n"),
        ("NPU131", "import torch\nn = torch.cuda.get_device_properties(0).multi_processor_count\n"),
        (
            "NPU803",
            COLLATE,
        ),
    ],
)
def test_what_nobody_mended_is_left_in_every_style(code: str, text: str, style: str) -> None:
    """A new spelling of the device must not hide what the code does with it."""
    done = migrated(text, style=style)
    assert [finding.code for finding in done.left].count(code) == 1
    place = next(finding for finding in done.left if finding.code == code)
    new = done.raw.decode() if done.raw is not None else text
    line = new.splitlines()[place.start.line - 1]
    assert any(word in line for word in ("init_process", "device", "cuda", "npu", "manual_seed", "DataLoader", "(rank"))


def test_what_an_edit_mends_is_not_left() -> None:
    text = "import torch\nimport apex\nnorm = apex.normalization.FusedRMSNorm(64)\nx = torch.ones(1).cuda()\n"
    assert "NPU620" in [finding.code for finding in findings(text)]
    for style in ("npu", "portable", "auto"):
        assert "NPU620" not in [finding.code for finding in migrated(text, style=style, unsafe=True).left]


def test_later_rounds_see_what_the_first_made_of_other_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that asks of another file is answered by its edited text; before, by the text on the disk."""
    (tmp_path / "place.py").write_text("import torch\nPLACE = 'cuda'\nx = torch.ones(1, device=PLACE)\n")
    (tmp_path / "main.py").write_text("import torch\nfrom place import PLACE\nx = torch.ones(1).cuda().to(PLACE)\n")
    seen = []
    analyse_it = Worker.analyse

    def watched(worker: Worker, relative: str, raw: bytes, **options: Any) -> Any:
        if relative == "main.py":
            project = worker.run.project
            source = project.load("place.py")
            assert source is not None and source.data == project.read("place.py")
            npu, cuda = (project.files_with(word) for word in (b"npu", b"cuda"))
            seen.append((options.get("is_later_round", False), b"'npu'" in source.data, npu, cuda))
        return analyse_it(worker, relative, raw, **options)

    monkeypatch.setattr(Worker, "analyse", watched)
    _, contents = plan.plan(tmp_path, Options(jobs=1, cache=False, torch_npu="2.13.0"))
    assert set(contents) == {"main.py", "place.py"}
    both = ["main.py", "place.py"]
    assert seen[0] == (False, False, [], both)
    assert set(map(str, seen[1:])) == {str((True, True, both, []))}


@pytest.mark.parametrize("style", ["npu", "portable"])
def test_an_offered_edit_is_left_where_a_method_that_python_calls_hands_on_the_value(
    style: str, tmp_path: Path
) -> None:
    (tmp_path / "main.py").write_text(
        "import torch\n\n\nclass State:\n    def __init__(self, kind):\n        self.kind = kind\n\n"
        "    def __str__(self):\n        return self.kind\n\n\n"
        "state = State('cuda')\na = torch.ones(1).to(str(state))\nb = torch.ones(1).cuda()\n"
    )
    left = plan.Draft(tmp_path, Options(style=style, jobs=1, cache=False)).left()
    assert [(one.code, one.safety) for one in left] == [("NPU120", Safety.REVIEW)]
