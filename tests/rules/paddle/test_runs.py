"""Migrated programs run on a stand-in for Paddle's custom device npu, and compute what they compute on the CPU.

The device is built from stand_in/device.cc with g++ against the headers in Paddle's wheel; it has no kernels, so that
Paddle takes those of the CPU. NPUIFY_PADDLE names a Python that has paddlepaddle for the CPU:

    python -m venv /somewhere && /somewhere/bin/pip install paddlepaddle==3.0.0 setuptools
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

from ...harness import output

PADDLE = os.environ.get("NPUIFY_PADDLE", "")
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not PADDLE, reason="NPUIFY_PADDLE names no Python with paddlepaddle"),
    pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed"),
]
TRAIN = """
for step in range(3):
    x = paddle.to_tensor([[1.0, 2.0, 3.0, 4.0 + step]])
    loss = (net(x) ** 2).mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    print(f"{float(loss):.6f}")
print(net.weight.place)
"""
NET = """
paddle.seed(3)
net = paddle.nn.Linear(4, 2)
optimizer = paddle.optimizer.Adam(0.1, parameters=net.parameters())
"""
PROGRAMS = {
    "set_device": f'import paddle\npaddle.set_device("gpu:0"){NET}{TRAIN}',
    "by what is compiled in": 'import paddle\npaddle.set_device("gpu" if paddle.is_compiled_with_cuda() else "cpu")'
    f"{NET}{TRAIN}",
    "by a place": f"""import paddle
place = paddle.CUDAPlace(0) if paddle.is_compiled_with_cuda() else paddle.CPUPlace()
paddle.set_device("gpu")
x = paddle.to_tensor([1.0, 2.0], place=place)
print((x * 3).numpy().tolist(), x.place, x.place.is_gpu_place())
{NET}{TRAIN}""",
    "tensors moved": """import paddle
x = paddle.ones([2, 2]).cuda()
y = x.to("gpu") + 1
print(y.place, float(y.sum()), "gpu" in paddle.get_device())
paddle.device.cuda.synchronize()
""",
    "cards counted": """import paddle
paddle.set_device("gpu")
n = paddle.device.cuda.device_count()
print("devices", n)
""",
    "a static graph": """import numpy as np
import paddle
paddle.enable_static()
main, start = paddle.static.Program(), paddle.static.Program()
with paddle.static.program_guard(main, start):
    x = paddle.static.data("x", [None, 3], "float32")
    y = (x * 2).sum()
executor = paddle.static.Executor(paddle.CUDAPlace(0))
executor.run(start)
(got,) = executor.run(main, feed={"x": np.ones([2, 3], "float32")}, fetch_list=[y])
print(float(got))
paddle.disable_static()
""",
    "batches": f"""import paddle
paddle.set_device("gpu")
class Numbers(paddle.io.Dataset):
    def __getitem__(self, at):
        return paddle.to_tensor([float(at)] * 4)
    def __len__(self):
        return 6
{NET}
for batch in paddle.io.DataLoader(Numbers(), batch_size=3, places=paddle.CUDAPlace(0)):
    loss = net(batch).mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    print(f"{{float(loss):.6f}}", batch.place)
""",
    "checkpoints": f"""import paddle, tempfile, os
paddle.set_device("gpu")
{NET}
file = os.path.join(tempfile.mkdtemp(), "x.pdparams")
paddle.save(net.state_dict(), file)
net.set_state_dict(paddle.load(file))
{TRAIN}""",
    "mixed precision": f"""import paddle
paddle.set_device("gpu"){NET}
with paddle.amp.auto_cast(enable=paddle.is_compiled_with_cuda() and False):
    out = net(paddle.ones([1, 4]))
print(f"{{float(out.sum()):.6f}}", out.place)
""",
}


@cache
def device() -> Path:
    """The folder with the stand-in, built for this Paddle."""
    folder = Path(mkdtemp(prefix="npuify-paddle-"))
    found = subprocess.run(
        [PADDLE, "-c", "import importlib.util as u; print(u.find_spec('paddle').submodule_search_locations[0])"],
        capture_output=True,
        text=True,
        check=True,
    )
    headers = Path(found.stdout.strip()) / "include"
    source = Path(__file__).with_name("stand_in") / "device.cc"
    command = ["g++", "-std=c++17", "-shared", "-fPIC", "-DPADDLE_WITH_CUSTOM_DEVICE", f"-I{headers}"]
    subprocess.run([*command, f"-I{headers}/third_party", "-o", str(folder / "npu.so"), str(source)], check=True)
    return folder


def run(programs: list[str], *, on_npu: bool) -> list[str]:
    environment = {**os.environ, "GLOG_minloglevel": "2"}
    environment.pop("CUSTOM_DEVICE_ROOT", None)
    if on_npu:
        environment["CUSTOM_DEVICE_ROOT"] = str(device())
    done = subprocess.run(
        [PADDLE, str(Path(__file__).with_name("inside_paddle.py"))],
        input=json.dumps(programs),
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answers: list[str] = json.loads(done.stdout[done.stdout.index("[") :])
    return answers


def on_the_cpu(text: str) -> str:
    """The same program on the CPU."""
    text = re.sub(r'CustomPlace\("npu", 0\)', "CPUPlace()", text)
    text = re.sub(r'paddle\.(device\.)?is_compiled_with_custom_device\("npu"\)', "False", text)
    text = text.replace("paddle.device.synchronize()", "pass")  # takes custom devices only
    return re.sub(r'"npu(:0)?"', '"cpu"', text)


@cache
def results() -> dict[str, tuple[str, str]]:
    migrated = [output(text, unsafe=True) for text in PROGRAMS.values()]
    assert not [text for text in migrated if re.search(r"cuda|CUDA|[\"']gpu", text)]
    on_npu = run(migrated, on_npu=True)
    on_cpu = run([on_the_cpu(text) for text in migrated], on_npu=False)
    return dict(zip(PROGRAMS, zip(on_npu, on_cpu, strict=True), strict=True))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_migrated_program_computes_on_the_device_what_the_cpu_computes(name: str) -> None:
    on_npu, on_cpu = results()[name]
    assert "Traceback" not in on_npu, on_npu
    numbers = [re.findall(r"-?\d+\.\d+", text) for text in (on_npu, on_cpu)]
    assert numbers[0] == numbers[1]
    if "Place(" in on_npu:
        assert "Place(npu:0)" in on_npu
        assert "Place(npu" not in on_cpu


def test_the_original_does_not_run_without_cuda() -> None:
    (said,) = run([PROGRAMS["set_device"]], on_npu=True)
    assert "Traceback" in said
