"""Variables of the environment that commands in texts of Python set."""

from __future__ import annotations

import pytest

from npuify import knowledge
from npuify.model import Safety

from ...harness import findings

HEAD = "import os\nimport subprocess\n"


@pytest.mark.parametrize(
    "text",
    [
        "os.system('CUDA_VISIBLE_DEVICES=0,1 python train.py')\n",
        "os.system('export CUDA_VISIBLE_DEVICES=%d && python train.py' % i)\n",
        "subprocess.run(f'CUDA_VISIBLE_DEVICES={i} python train.py', shell=True)\n",
        "command = f'CUDA_VISIBLE_DEVICES={i} python train.py '\ncommand += '--x 1'\nos.system(command)\n",
        "os.system('CUDA_VISIBLE_DEVICES={} python train.py'.format(i))\n",
    ],
)
def test_a_command_in_a_text_changes(text: str) -> None:
    (found,) = findings(HEAD + text)
    assert (found.code, found.safety) == ("NPU701", Safety.SAFE)
    assert [edit.after for edit in found.edits] == ["ASCEND_RT_VISIBLE_DEVICES"]


@pytest.mark.parametrize("value", ["1,0", "-1", "GPU-8d9b"])
def test_a_command_whose_value_means_something_else_is_told(value: str) -> None:
    (found,) = findings(HEAD + f"os.system('CUDA_VISIBLE_DEVICES={value} python train.py')\n")
    assert (found.code, found.safety, found.edits) == ("NPU701", Safety.MANUAL, ())
    assert "ASCEND_RT_VISIBLE_DEVICES" in found.message


@pytest.mark.parametrize(
    "text",
    [
        "usage = 'CUDA_VISIBLE_DEVICES=0,1 python train.py'\nprint(usage)\n",
        "raise ValueError('CUDA_VISIBLE_DEVICES=0 is not enough')\n",
        "os.system('python train.py CUDA_VISIBLE_DEVICES=0')\n",
        "os.system('BATCH_SIZE=4 python train.py')\n",
    ],
)
def test_other_texts_are_no_commands(text: str) -> None:
    assert not findings(HEAD + text)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("os.system('nvidia-smi')", True),
        ("out = subprocess.check_output(['nvidia-smi', '-i', '0', '--query-gpu=memory.used', '--format=csv'])", True),
        ("out = subprocess.run(f'nvidia-smi -i {index}', shell=True)", True),
        ("for line in os.popen('/usr/bin/nvidia-smi topo -m'): pass", True),
        ("command = 'nvidia-smi -L'\nsubprocess.run(command, shell=True)", True),
        ("command = ['nvidia-smi', '-L']\nsubprocess.run(command)", True),
        ("found = shutil.which('nvidia-smi')", True),
        ("os.system('nvidia-smi-log --all')", False),
        ("print('nvidia-smi not found in PATH.')", False),
        ("subprocess.run(['grep', 'nvidia-smi', 'log.txt'])", False),
        ("command = 'nvidia-smi -L'\nprint(command)", False),
        ("NAMES = ['nvidia-smi', 'npu-smi']", False),
    ],
)
@pytest.mark.parametrize("style", ["npu", "portable", "auto"])
def test_nvidia_smi_that_python_starts(line: str, told: bool, style: str) -> None:
    found = [one for one in findings(f"import os, shutil, subprocess\n{line}\n", style=style) if one.code == "NPU713"]
    assert bool(found) == told
    assert all("torch.npu.mem_get_info" in one.advice for one in found)


def test_names_of_torch_npu_in_the_advice_for_nvidia_smi_exist() -> None:
    release = knowledge.load("2.14.0")
    for name in ("mem_get_info", "get_device_name"):
        assert release.counterpart(f"torch.cuda.{name}") is not None


@pytest.mark.parametrize(
    ("line", "severity"),
    [
        # Nobody reads what is set there; what must be set, and is not, stops the program.
        ("os.environ['NVIDIA_TF32_OVERRIDE'] = '0'", "info"),
        ("os.environ.setdefault('NVIDIA_TF32_OVERRIDE', '0')", "info"),
        ("x = os.environ.get('NVIDIA_TF32_OVERRIDE')", "info"),
        ("x = os.environ['NVIDIA_TF32_OVERRIDE']", "warning"),
        ("os.environ['CUDA_CACHE_DISABLE'] = '0'", "warning"),
    ],
)
def test_a_variable_without_counterpart_is_worth_a_note_where_it_is_set(line: str, severity: str) -> None:
    (found,) = findings(f"import os\n{line}\n")
    assert (found.code, found.severity.value) == ("NPU701", severity)
