"""A program that supports the NPU by itself is not turned into one that has two sides for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify.engine.scan import scan
from npuify.migration import migrate
from npuify.model import Safety
from npuify.options import Options
from npuify.report.verdicts.verdict import judge
from npuify.rules.common.npu_support import SUPPORT

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = "import torch\nstep = torch.cuda.Event()\nx = torch.zeros(2).cuda()\n"


def test_edits_need_a_look_and_one_finding_says_why(tmp_path: Path) -> None:
    (tmp_path / "devices.py").write_text("def is_npu_available():\n    return False\n\n\nNAMES = 'cuda'\n")
    (tmp_path / "train.py").write_text(PROGRAM)
    found = scan([tmp_path], Options(cache=False)).findings
    assert [finding.file for finding in found if finding.code == "NPU108"] == ["devices.py"]
    edits = [finding for finding in found if finding.file == "train.py" and finding.edits]
    assert len(edits) == 2
    assert {finding.safety for finding in edits} == {Safety.REVIEW}


def test_questions_of_tests_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_devices.py").write_text("from x import is_npu_available\nNAME = 'cuda'\n")
    (tmp_path / "train.py").write_text(PROGRAM)
    found = scan([tmp_path], Options(cache=False)).findings
    assert not [finding for finding in found if finding.code == "NPU108"]
    assert {finding.safety for finding in found if finding.file == "train.py"} == {Safety.SAFE}


@pytest.mark.parametrize("name", ["NPU_Accelerator", "NpuAccelerator", "NPUPlatform"])
def test_a_class_for_the_npu_in_a_file_of_its_own_counts(tmp_path: Path, name: str) -> None:
    (tmp_path / "npu_accelerator.py").write_text(f"import torch\n\n\nclass {name}(Base):\n    pass\n")
    (tmp_path / "train.py").write_text(PROGRAM)
    found = scan([tmp_path], Options(cache=False)).findings
    assert [finding.file for finding in found if finding.code == "NPU108"] == ["npu_accelerator.py"]
    assert {finding.safety for finding in found if finding.edits} == {Safety.REVIEW}


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("if x.is_npu:", False),
        ("ok = q.is_npu, 'cuda'", False),
        ("if self.is_npu:", True),
        ("if is_npu():", True),
        ("if platform.is_npu():", True),
        ("IS_NPU = probe()", True),
        ("from config import IS_NPU_AVAILABLE", True),
        ("is_npus = 1", False),
        ("class NPUAcceleratorTest:", False),
    ],
)
def test_a_question_to_a_tensor_is_none_to_the_machine(text: str, counts: bool) -> None:
    assert (SUPPORT.search(text.encode()) is not None) == counts


def test_what_a_migration_writes_is_no_support_of_the_projects_own(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\n\n\ndef run(x):\n    return x.is_npu or x.name == 'cuda'\n")
    (tmp_path / "other.py").write_text(PROGRAM)
    found = scan([tmp_path], Options(cache=False)).findings
    assert not [finding for finding in found if finding.code == "NPU108"]
    assert {finding.safety for finding in found if finding.file == "other.py"} == {Safety.SAFE}


def test_only_the_programs_that_support_an_npu_are_held_back(tmp_path: Path) -> None:
    move = "import torch\nx = torch.ones(1).cuda()\n"
    files = {
        "old/train.py": "import nets\n" + move,
        "old/nets.py": move,
        "old/run.sh": "python train.py --backend nccl\n",
        "new/train.py": f"import pick\nfrom shared.tools import (\n    one,\n)\n{move}",
        "new/pick.py": 'import torch\nNPU = hasattr(torch, "npu")\ndevice = "cuda"\n',
        "new/run.sh": "python train.py --backend nccl\n",
        "shared/tools.py": "one = 1\n" + move,
        "tests/test_all.py": "import old.train, new.train\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = scan([tmp_path], Options(cache=False)).findings
    safeties = {one.file: one.safety for one in found if one.edits}
    assert {file for file, safety in safeties.items() if safety is Safety.SAFE} == {
        "old/train.py",
        "old/nets.py",
        "old/run.sh",
    }
    assert safeties["new/train.py"] is safeties["shared/tools.py"] is Safety.REVIEW
    # What is imported by a name that only a run tells may be anything.
    (tmp_path / "new/train.py").write_text("import importlib, pick\nimportlib.import_module(pick.name)\n")
    (tmp_path / "new/other.py").write_text(move)
    found = scan([tmp_path], Options(cache=False)).findings
    assert next(one.safety for one in found if one.file == "new/other.py") is Safety.REVIEW


SUPPORTS = """import argparse, os, torch
def is_npu_available():
    return hasattr(torch, "npu")
p = argparse.ArgumentParser()
{option}
x = torch.zeros(1).to(p.parse_args().device)
y = torch.zeros(1).to("cuda")
if __name__ == "__main__":
    pass
"""


@pytest.mark.parametrize(
    ("option", "say", "without"),
    [
        ("p.add_argument('--device', default='cuda')", "--device npu", "the program asks for 'cuda', which"),
        (
            "p.add_argument('-d', '--device-type', default='gpu')",
            "--device-type npu",
            "the program asks for 'gpu', which",
        ),
        ("p.add_argument('--device', default='cpu')", "--device npu", "the program runs on the CPU"),
        ("p.add_argument('--device')", "--device npu", "the program chooses by itself"),
        ("p.add_argument('--device', default='cuda', choices=['cuda', 'npu'])", "--device npu", "the program asks for"),
        (
            "p.add_argument('--device', default='cuda' if torch.cuda.is_available() else 'cpu')",
            "--device npu",
            "the program runs on the CPU",
        ),
        ("p.add_argument('--use_npu', action='store_true')", "--use_npu", "the program does not use the NPU"),
        ("DEVICE = os.environ.get('TORCH_DEVICE', 'cuda')", "TORCH_DEVICE=npu", "the program asks for"),
        ("p.add_argument('--device', default='npu')", "--device npu", ""),
    ],
)
def test_how_such_a_program_is_started(option: str, say: str, without: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SUPPORTS.format(option=option))
    (found,) = judge(scan([tmp_path], Options(cache=False))).programs
    assert [(one.say, one.line) for one in found.starts] == [(say, 5)]
    assert found.starts[0].without.startswith(without) and bool(found.starts[0].without) is bool(without)
    assert ("start it with" in found.summary) is bool(without)


@pytest.mark.parametrize(
    "option",
    [
        "p.add_argument('--device', default='cuda', choices=['cuda', 'cpu'])",
        "p.add_argument('--device', type=int, default=0)",
        "p.add_argument('--devices', default='0')",
        "",
    ],
)
def test_options_that_take_no_npu_start_none(option: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SUPPORTS.format(option=option))
    (found,) = judge(scan([tmp_path], Options(cache=False))).programs
    assert found.starts == () and "no option" in found.summary


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("p.add_argument('--device', default='cuda')", "p.add_argument('--device', default='npu')"),
        (
            "p.add_argument('--device', default='cuda', choices=['cuda', 'npu'])",
            "p.add_argument('--device', default='npu', choices=['cuda', 'npu'])",
        ),
        (
            "p.add_argument('--device', default='cuda' if torch.cuda.is_available() else 'cpu')",
            "p.add_argument('--device', default='npu' if torch.npu.is_available() else 'cpu')",
        ),
        ("DEVICE = os.environ.get('DEVICE', 'cuda')", "DEVICE = os.environ.get('DEVICE', 'npu')"),
    ],
)
def test_its_defaults_change_where_that_is_asked_for(before: str, after: str, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    (source / "train.py").write_text(SUPPORTS.format(option=before))
    for asked, expected in (("", before), ("npu", after)):
        migrate(source, tmp_path / f"out{asked}", Options(cache=False, device_default=asked))
        text = (tmp_path / f"out{asked}" / "train.py").read_text()
        assert expected in text
        # Only the defaults: what else it says of devices is its own.
        assert 'y = torch.zeros(1).to("cuda")' in text
