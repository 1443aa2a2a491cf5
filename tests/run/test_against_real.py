"""The patches of ``npuify run`` against the real torch_npu, imported with stand-ins for CANN, which has no kernels.

Downloads about 300 MB the first time, so it runs only where it is asked for:
``NPUIFY_REAL_TORCH_NPU=2.13.0 pytest tests/run/test_against_real.py``. NPUIFY_REAL_WORK names the folder to keep files in.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from npuify.process.environment import HOME, SHIM
from npuify.run.patches import PATCHES
from npuify.run.settings import Settings

from .test_patches import ASKING, LINES, MAKE, SAME

if TYPE_CHECKING:
    from tools.real_torch_npu.machine import Machine

pytestmark = [pytest.mark.network, pytest.mark.slow]

SAME_THERE = (
    *SAME,
    "torch.cuda._utils._get_device_index",
    "isinstance(x.device",
    "torch.nn.DataParallel(linear().cuda()).device_ids",
)
"""As SAME, of lines that the real package does as the simulated one does not."""


OLDER = {
    'cpu.cuda(torch.device("cuda:1"), non_blocking=True)': "it asks for CANN's version, which the stand-in has none of",
    '"CUDA out of memory" in too_much()': "it raises RuntimeError, not torch.OutOfMemoryError",
    'ranged(torch.cuda.nvtx.range("b"))': "the plain wheel of its torch has NVTX",
}
"""Lines that torch_npu 2.7.1 answers otherwise, and why."""


@pytest.fixture(scope="module", name="machine")
def _machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    version = os.environ.get("NPUIFY_REAL_TORCH_NPU")
    if not version:
        pytest.skip("asks the real package: set NPUIFY_REAL_TORCH_NPU to its version, e.g. 2.13.0")
    from tools.real_torch_npu.machine import prepare
    from tools.real_torch_npu.packages import PackageError

    given = os.environ.get("NPUIFY_REAL_WORK")
    work = Path(given) if given else tmp_path_factory.mktemp("real")
    try:
        return prepare(version, wheels=work / "wheels", work=work)
    except PackageError as error:
        pytest.skip(f"the package cannot be had: {error}")


def _run(machine: Machine, folder: Path, settings: Settings, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = machine.environment(NPUIFY_STAND_IN_DEVICES="8", NPUIFY_STAND_IN_SOC="Ascend910B1", CUDA_LAUNCH_BLOCKING="1")
    env = {**env, **settings.environment(), "NPUIFY_RUN_HOME": str(HOME)}
    env["PYTHONPATH"] = os.pathsep.join([str(SHIM), env["PYTHONPATH"]])
    command = [str(machine.python), *arguments]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module", name="answers")
def _answers(machine: Machine, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], dict[str, str]]:
    folder = tmp_path_factory.mktemp("patches")
    (folder / "program.py").write_text(ASKING)
    (folder / "cuda_runs").mkdir()
    (folder / "lines.json").write_text(json.dumps([line for lines in LINES.values() for line in lines]))
    plain = machine.environment(TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    subprocess.run([str(machine.python), "-c", MAKE], cwd=folder, env=plain, check=True, timeout=300)
    alone = tuple(patch.name for patch in PATCHES if patch.name != "transfer")
    found = []
    for disabled in ((), alone):
        done = _run(machine, folder, Settings(disabled=disabled), "program.py", "answers.json")
        assert done.returncode == 0, done.stderr[-2000:]
        assert "could not be put in place" not in done.stderr
        found.append(json.loads((folder / "answers.json").read_text()))
    return found[0], found[1]


@pytest.mark.parametrize(("patch", "line"), [(patch, line) for patch, lines in LINES.items() for line in lines])
def test_with_and_without(
    machine: Machine, answers: tuple[dict[str, str], dict[str, str]], patch: str, line: str
) -> None:
    if machine.torch_npu.version.startswith("2.7."):
        for beginning, why in OLDER.items():
            if line.startswith(beginning):
                pytest.skip(why)
    assert answers[0][line] == LINES[patch][line]
    if not line.startswith(SAME_THERE):
        assert answers[1][line] != LINES[patch][line], f"{patch} is not needed for this line"


def test_off_changes_nothing(machine: Machine, tmp_path: Path) -> None:
    asked = (
        "import torch, torch_npu; print(torch.device.__module__, torch.cuda.is_available(), torch.device('cuda').type)"
    )
    env = {**machine.environment(), "PYTHONPATH": os.pathsep.join([str(SHIM), machine.environment()["PYTHONPATH"]])}
    done = subprocess.run(
        [str(machine.python), "-c", asked], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[-3:] == ["torch", "False", "cuda"]
