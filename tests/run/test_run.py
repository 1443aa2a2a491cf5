"""``npuify run`` as a process: children, errors, notebooks, and nothing left behind where it is off."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest

from npuify.model import NpuifyError
from npuify.process.environment import SHIM
from npuify.run import launch, launch_paths
from npuify.run.patches import names
from npuify.run.settings import Settings, from_environment

from .conftest import environment, needs_simulation, npuify

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Run


def test_settings_survive_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings("simulated", "/a/trace", ("jit", "nvtx"), log=True)
    for name, value in settings.environment().items():
        monkeypatch.setenv(name, value)
    assert from_environment() == settings


def test_wrong_settings_are_refused(tmp_path: Path) -> None:
    assert launch.settings_for("npu", None, ["jit, nvtx", "paths"]).disabled == ("jit", "nvtx", "paths")
    for wrong in (("gpu", None, []), ("npu", None, ["jitt"]), ("npu", tmp_path, []), ("npu", tmp_path / "a" / "b", [])):
        with pytest.raises(NpuifyError):
            launch.settings_for(*wrong)


def test_a_python_without_torch_npu_is_told_what_to_do(tmp_path: Path) -> None:
    needs_simulation()
    (tmp_path / "train.py").write_text("")
    done = npuify("run", "train.py", folder=tmp_path)
    assert done.returncode == 2
    assert "--device simulated" in done.stderr


def test_patches_are_listed_and_the_environment_is_printed(tmp_path: Path) -> None:
    listed = npuify("run", "--list", folder=tmp_path).stdout.splitlines()
    assert [line.split()[0] for line in listed] == list(names())
    needs_simulation()
    env = {**environment(), "CUDA_VISIBLE_DEVICES": "0,1"}
    lines = npuify("run", "--device", "simulated", "--print-environment", folder=tmp_path, env=env).stdout
    assert "export NPUIFY_RUN=1" in lines
    assert "CUDA_VISIBLE_DEVICES" not in lines
    program = "import torch; print(torch.cuda.is_available(), torch.zeros(1).cuda().device.type == 'cuda')"
    script = f'{lines}\n{sys.executable} -c "{program}"'
    done = subprocess.run(["sh", "-c", script], env=env, capture_output=True, text=True, timeout=200, check=True)
    assert done.stdout == "True True\n"


def test_off_leaves_no_trace(tmp_path: Path) -> None:
    asked = "import sys, os; print([m for m in sys.modules if 'npuify' in m], [f for f in sys.meta_path if 'npuify' in repr(f)], type(os.environ).__name__, sys.excepthook is sys.__excepthook__)"
    env = {**environment(), "PYTHONPATH": str(SHIM)}
    done = subprocess.run(
        [sys.executable, "-c", asked], env=env, capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout.split("]")[0].count("npuify.run") == 0
    assert done.stdout.strip().endswith("_Environ True")
    assert not list(SHIM.glob("torch*")), "the folder on the path holds sitecustomize only"


def test_children_and_their_errors(run: Run, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('own sitecustomize')")
    said = run(
        """
        import multiprocessing, os, subprocess, sys
        os.environ["CUDA_VISIBLE_DEVICES"] = "1"

        def there(queue):
            import torch
            queue.put((os.environ["ASCEND_RT_VISIBLE_DEVICES"], torch.ones(1, device="cuda").device.type == "cuda"))

        if __name__ == "__main__":
            context = multiprocessing.get_context("spawn")
            queue = context.Queue()
            child = context.Process(target=there, args=(queue,))
            child.start()
            print("spawned", queue.get(timeout=300))
            child.join()
            program = "import torch; torch.ops.aten.zeros([2], device=torch._C.device('cuda'))"
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
            print(done.returncode, done.stderr)
            print(sys.argv[1:])
        """,
        arguments=("--a", "b"),
    )
    assert "spawned ('1', True)" in said
    assert "['--a', 'b']" in said
    error = said[said.index("Traceback") :]
    own = ("Could not run 'aten::", "No CUDA GPUs are available")  # of builds for the CPU, and for CUDA
    assert any(text in error for text in own), "the error keeps its own text"
    assert "npuify run: this is a part of CUDA" in error
    assert "<string>:1" in error


NOTEBOOK = """
import sys, torch
from torch.cuda import is_available
import torch.nn as nn

assert not is_available()
import npuify

class Shell:
    def set_custom_exc(self, kinds, handler):
        self.handler = handler
    def showtraceback(self, error, tb_offset=None):
        print("shown", error[0].__name__)

shell = Shell()
npuify.load_ipython_extension(shell)
npuify.load_ipython_extension(shell)
assert is_available(), "a name that was taken earlier means the new one"
model = nn.Linear(2, 2).cuda()
print(next(model.parameters()).device.type == "cuda")
try:
    raise RuntimeError("Torch not compiled with CUDA enabled")
except RuntimeError as error:
    shell.handler(shell, RuntimeError, error, error.__traceback__)
npuify.unload_ipython_extension(shell)
"""


def test_simulated_npus_are_started_as_simulate_starts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without instructions that some virtual machines announce and refuse; but GPUs are not hidden."""
    monkeypatch.setattr("npuify.process.environment.spare_amx", lambda made: made.update(ONEDNN_MAX_CPU_ISA="spared"))
    before = {"CUDA_VISIBLE_DEVICES": "1", "PATH": "/bin"}
    made = launch_paths.environment(Settings(device="simulated"), before)
    assert made["ONEDNN_MAX_CPU_ISA"] == "spared"
    assert made["CUDA_VISIBLE_DEVICES"] == "1"
    assert "ONEDNN_MAX_CPU_ISA" not in launch_paths.environment(Settings(device="npu"), before)


def test_in_a_notebook(tmp_path: Path) -> None:
    needs_simulation()
    # An empty CUDA_VISIBLE_DEVICES would hide the NPUs, too.
    env = {**environment(), "NPUIFY_RUN_DEVICE": "simulated"}
    env.pop("CUDA_VISIBLE_DEVICES", None)
    command = [sys.executable, "-c", textwrap.dedent(NOTEBOOK)]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "True\nshown RuntimeError\n"
    assert "npuify run: this is a part of CUDA" in done.stderr
    assert "restart the kernel" in done.stderr


CELLS = """
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

shell = InteractiveShell.instance()

def cell(code):
    with capture_output() as said:
        result = shell.run_cell(code)
    return result, said.stdout + said.stderr

cell("import torch\\nfrom torch.cuda import is_available")
assert cell("is_available()")[0].result is False
result, said = cell("%load_ext npuify")
assert isinstance(result.error_in_exec, ImportError) and "NPUIFY_RUN_DEVICE" in said, said
result, said = cell("%env NPUIFY_RUN_DEVICE=simulated\\n%load_ext npuify")
assert result.success and "Warning" not in said, said
assert cell("is_available(), torch.ones(1, device='cuda').device.type == 'cuda'")[0].result == (True, True)
result, said = cell("torch.ops.aten.zeros([2], device=torch._C.device('cuda'))")
assert isinstance(result.error_in_exec, NotImplementedError)
assert "Traceback" in said and "npuify run: this is a part of CUDA" in said, said
assert "npuify run" not in cell("1/0")[1]
assert cell("%reload_ext npuify")[0].success and cell("torch.zeros(2).cuda().is_cuda")[0].result
print("all well")
"""


def test_in_a_real_notebook_shell(tmp_path: Path) -> None:
    pytest.importorskip("IPython", reason="IPython is not installed")
    needs_simulation()
    env = {**environment(), "IPYTHONDIR": str(tmp_path)}
    command = [sys.executable, "-c", CELLS]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=200, check=False)
    assert done.stdout.endswith("all well\n"), done.stdout + done.stderr
