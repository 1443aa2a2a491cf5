"""How ``npuify simulate`` starts programs."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from npuify.cli.common.options import size_in_bytes
from npuify.doctor.probes.npu_smi import parse
from npuify.model import NpuifyError
from npuify.simulator import launch, messages, npu_smi, tables
from npuify.simulator.device import build
from npuify.simulator.settings import Settings, from_environment
from npuify.simulator.visible_devices import visible_devices
from tests.warm import Program

from .conftest import environment

if TYPE_CHECKING:
    from pathlib import Path

    from tests.warm import Warm

    from .conftest import Simulate


@pytest.mark.parametrize(
    ("text", "size"), [("64GiB", 64 << 30), ("512 MiB", 512 << 20), ("8G", 8 << 30), ("1.5gb", 3 << 29), ("4096", 4096)]
)
def test_sizes(text: str, size: int) -> None:
    assert size_in_bytes(text) == size


@pytest.mark.parametrize("text", ["", "much", "-1GiB", "0", "5 parsecs"])
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(NpuifyError):
        size_in_bytes(text)


def test_settings_survive_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(devices=3, memory=1 << 30, soc="Ascend910A", policy="off", cpu_random=True)
    for name, value in settings.environment().items():
        monkeypatch.setenv(name, value)
    assert from_environment() == settings


WRONG = [
    ("SOC", "Nope", "NPUIFY_SIMULATE_SOC: npuify cannot simulate a chip called Nope; it knows Ascend910A"),
    ("TORCH_NPU", "9", "NPUIFY_SIMULATE_TORCH_NPU: npuify knows no torch_npu 9; it knows 2.1"),
    ("DEVICES", "x", "NPUIFY_SIMULATE_DEVICES=x is not a number from 1 to 64"),
    ("DEVICES", "65", "NPUIFY_SIMULATE_DEVICES=65 is not a number from 1 to 64"),
    ("MEMORY", "8GiB", "NPUIFY_SIMULATE_MEMORY=8GiB is not a number"),
    ("POLICY", "maybe", "NPUIFY_SIMULATE_POLICY=maybe is none of off, warn, error"),
    ("ENGINE", "gpu", "NPUIFY_SIMULATE_ENGINE=gpu is none of auto, native, python"),
]
BY_NAME = pytest.mark.parametrize(("name", "value", "said"), WRONG, ids=[f"{name}={value}" for name, value, _ in WRONG])


@BY_NAME
def test_a_variable_that_is_wrong_is_told_in_one_line(
    name: str, value: str, said: str, on_npus: Warm, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text("import torch, torch_npu")
    (done,) = on_npus.run(Program(["program.py"], tmp_path, {f"NPUIFY_SIMULATE_{name}": value}))
    assert done.returncode == 1
    assert done.stderr.startswith(f"npuify: {said}") and done.stderr.count("\n") == 1, done.stderr


def test_a_wrong_variable_ends_a_process_that_imports_torch() -> None:
    environ = launch.environment(Settings(), dict(os.environ)) | {"NPUIFY_SIMULATE_DEVICES": "x"}
    command = [sys.executable, "-c", "import torch, torch_npu"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 1
    assert done.stderr == "npuify: NPUIFY_SIMULATE_DEVICES=x is not a number from 1 to 64\n"


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        (None, (0, 1, 2, 3)),
        ("", ()),
        ("0,1", (0, 1)),
        ("2", (2,)),
        ("1,3,5", (1, 3)),
        ("0,1,", (0, 1)),
        ("0, 1", (0,)),
        ("0,x,1", (0,)),
        ("x", ()),
        ("-1", ()),
        ("1,0", ()),
        ("1,1", ()),
    ],
)
def test_the_devices_that_the_environment_shows(value: str | None, seen: tuple[int, ...]) -> None:
    assert visible_devices(value, 4) == seen


def test_a_program_chooses_its_devices_until_it_uses_one(on_npus: Warm, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import os, torch, torch_npu\n"
        "count = lambda: print(torch.npu.device_count(), torch.accelerator.device_count())\n"
        "count()\n"
        "os.environ['ASCEND_RT_VISIBLE_DEVICES'] = '3,4,6'\n"
        "count()\n"
        "x = torch.ones(1, device='npu:2')\n"
        "os.environ['ASCEND_RT_VISIBLE_DEVICES'] = ''\n"
        "count()\n"
        "for refused in (lambda: torch.npu.set_device(3), lambda: torch.ones(1, device='npu:5')):\n"
        "    try: refused()\n"
        "    except RuntimeError as error: print('ASCEND_RT_VISIBLE_DEVICES shows 3 NPUs' in str(error))\n"
    )
    shown, none = on_npus.run(
        Program(["program.py"], tmp_path, {"ASCEND_RT_VISIBLE_DEVICES": "0,1"}),
        Program(["program.py"], tmp_path, {"ASCEND_RT_VISIBLE_DEVICES": ""}),
    )
    assert shown.stdout.split() == ["2", "2", "3", "3", "3", "3", "True", "True"], shown
    assert none.stdout.split()[:2] == ["0", "0"], none


def test_a_run_says_each_thing_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    environ: dict[str, str] = {}
    messages.new_run(environ, str(tmp_path))
    monkeypatch.setenv("NPUIFY_SIMULATE_CACHE", str(tmp_path))
    monkeypatch.setattr(messages, "_said", set())
    monkeypatch.setenv("NPUIFY_SIMULATE_RUN", environ["NPUIFY_SIMULATE_RUN"])
    messages.say("once", topic="host-runs")
    messages.say("once", topic="host-runs")
    monkeypatch.setattr(messages, "_said", set())  # as in another process
    messages.say("once", topic="host-runs")
    messages.say("and another", topic="no-compiler")
    assert capsys.readouterr().err == "once\nand another\n"
    (notes,) = (tmp_path / "said").iterdir()
    os.utime(notes, (0, 0))
    messages.new_run({}, str(tmp_path))
    assert not notes.exists()
    monkeypatch.setenv("NPUIFY_SIMULATE_RUN", "../evil")
    monkeypatch.setattr(messages, "_said", set())
    messages.say("outside of a run", topic="host-runs")
    assert capsys.readouterr().err == "outside of a run\n"


def test_the_launcher_of_torch_npu_needs_no_port(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from npuify.simulator.api import npu_run

    seen = []
    monkeypatch.setattr(npu_run.torchrun, "run", seen.append)
    npu_run._main(["--nproc_per_node", "2", "a file.py"])
    npu_run._main(["--master_port", "1234", "a file.py"])
    assert [(one.rdzv_backend, one.rdzv_endpoint) for one in seen] == [
        ("static", "127.0.0.1:29500"),
        ("static", "127.0.0.1:1234"),
    ]


def test_the_release_that_stands_beside_a_torch() -> None:
    assert tables.release_for("2.13.0+cpu") == "2.13.0"
    assert tables.release_for("2.6.0") == "2.6.0.post5"
    assert tables.release_for("2.13.0", "2.7") == "2.7.1.post11"
    with pytest.raises(ValueError, match=r"for PyTorch 2\.1 and newer; this is 1\.13\.0"):
        tables.release_for("1.13.0")
    with pytest.raises(ValueError, match=r"knows no torch_npu for torch 9\.1\.0"):
        tables.release_for("9.1.0")


def test_no_compiler_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(build.NoCompiler, match=r"apt-get install g\+\+"):
        build.library("9.9.9", tmp_path, True, False, cache=str(tmp_path))


def test_what_the_compiler_says_is_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tool = tmp_path / "bad-compiler"
    tool.write_text("#!/bin/sh\necho no headers here >&2\nexit 1\n")
    tool.chmod(0o755)
    monkeypatch.setenv("CXX", str(tool))
    with pytest.raises(build.CompileError, match="no headers here"):
        build.library("9.9.9", tmp_path, True, False, cache=str(tmp_path / "cache"))
    assert not list((tmp_path / "cache").glob("*.so")), "nothing half made is left"


@pytest.mark.skipif(os.name != "posix", reason="the compiler is a script")
def test_no_folder_of_the_machine_is_compiled_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Warnings of the device ended in the path of the source where it was compiled (``Triggered internally at``)."""
    tool, said, torch = tmp_path / "c++", tmp_path / "said", tmp_path / "site" / "torch"
    torch.mkdir(parents=True)
    # What the compiler is given as names; the files are there, under these names, where it runs.
    tool.write_text(
        f'#!/bin/sh\ncase "$1" in -c) for word; do case $word in -I*) test -d "${{word#-I}}" || exit 3;; '
        f'*.cpp) test -f "$word" || exit 3;; esac; done; echo "$@" >>"{said}";; esac\n'
        'while [ $# -gt 1 ]; do if [ "$1" = -o ]; then : >"$2"; fi; shift; done\n'
    )
    tool.chmod(0o755)
    (torch / "include" / "torch" / "csrc" / "api" / "include").mkdir(parents=True)
    monkeypatch.setenv("CXX", str(tool))
    build.library("9.9.9", torch, True, False, cache=str(tmp_path / "cache"))
    words = said.read_text().split()
    named = [word for word in words if word.endswith(".cpp") or word.startswith("-I")]
    assert named and not any("/site/" in word or str(build.SOURCES) in word for word in named)
    assert "native/operators.cpp" in named


@pytest.mark.skipif(os.name != "posix", reason="the compiler is a script")
@pytest.mark.parametrize(
    ("found", "linked"), [("/usr/lib/libstdc++.so", []), ("libstdc++.so", ["/lib/libstdc++.so.6"])]
)
def test_a_compiler_with_a_static_library_only(found: str, linked: list[str], tmp_path: Path) -> None:
    """A second C++ library in the process ends it with a segmentation fault at the first number in an error's text."""
    tool, maps = tmp_path / "c++", tmp_path / "maps"
    tool.write_text(f"#!/bin/sh\necho {found}\n")
    tool.chmod(0o755)
    maps.write_text(
        "7f00-7f01 r-xp 00000000 08:01 12 /lib/libc.so.6\n"
        "7f02-7f03 r-xp 00000000 08:01 13                 /lib/libstdc++.so.6\n"
        "7f03-7f04 rw-p 00000000 08:01 13                 /lib/libstdc++.so.6\n"
    )
    assert build._standard_library(str(tool), maps) == linked
    assert build._standard_library(str(tool), tmp_path / "none") == []


def test_exit_codes_arguments_and_modules(start: Simulate, tmp_path: Path) -> None:
    said = start("import sys; print(sys.argv[1:]); sys.exit(7)", arguments=("--devices", "x", "-m"), code=7)
    assert "['--devices', 'x', '-m']" in said
    (tmp_path / "sitecustomize.py").write_text("print('own sitecustomize')")
    (tmp_path / "tool.py").write_text("import torch_npu, torch.npu.amp; print(torch_npu.npu.amp is torch.npu.amp)")
    command = [sys.executable, "-m", "npuify", "simulate", "-m", "tool"]
    env = environment()
    env["PYTHONPATH"] += os.pathsep + str(tmp_path)
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "own sitecustomize" in done.stdout
    assert "True" in done.stdout


def test_what_cannot_be_simulated_is_refused_before_the_program_starts(start: Simulate, tmp_path: Path) -> None:
    for options, message in (
        (("--soc=Ascend911",), "npuify cannot simulate a chip called Ascend911; it knows Ascend"),
        (("--torch-npu=9.9",), "npuify knows no torch_npu 9.9"),
    ):
        said = start("print('started')", *options, code=2)
        assert said.startswith(f"npuify: {message}"), said
        assert "started" not in said and "Traceback" not in said
    done = subprocess.run(
        [sys.executable, "-m", "npuify", "simulate", "none.py"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (2, "npuify: no such file: none.py\n")


def test_operators_by_key_of_a_release_that_was_not_asked() -> None:
    asked = tables.kernels_by_key("2.7.1.post11")
    assert tables.kernels_by_key("2.8.0.post5") == tables.kernels_by_key("2.12.0.post3") == asked
    assert tables.kernels_by_key("2.1.0.post17") == tables.kernels_by_key("2.6.0.post5")
    assert "hspmm" not in asked["SparsePrivateUse1"] and "_coalesce" in asked["SparsePrivateUse1"]


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_interrupt_reaches_the_program(tmp_path: Path) -> None:
    program = tmp_path / "wait.py"
    program.write_text(
        "import time\ntry:\n    print('ready', flush=True)\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    raise SystemExit(9)\n"
    )
    command = [sys.executable, "-m", "npuify", "simulate", str(program)]
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=300) == 9
    process.stdout.close()


BUILT_FOR_CUDA = """
import os, sys
import torch

def asked():
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "", "the driver may see no GPU"
    return 1

torch.version.cuda, torch._C._cuda_getDeviceCount, torch._C._has_cuda = "13.0", asked, True
from npuify.simulator import runtime
runtime._hide_cuda()
import torch.backends.cuda
print(torch.cuda.is_available(), torch.cuda.device_count(), torch.version.cuda, os.environ["CUDA_VISIBLE_DEVICES"])
try:
    torch.zeros(1).cuda()
except AssertionError as error:
    print(error)
"""


def test_a_build_for_cuda_looks_like_one_for_the_cpu(tmp_path: Path) -> None:
    """Also where GPUs are to be seen, as under ``npuify run``, whose programs read what their caller set."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    env = {**environment(), "CUDA_VISIBLE_DEVICES": "0,1"}
    command = [sys.executable, "-c", BUILT_FOR_CUDA]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["False 0 None 0,1", "Torch not compiled with CUDA enabled"]


@pytest.mark.parametrize(("devices", "soc"), [(1, "Ascend910B1"), (8, "Ascend910B3"), (16, "Ascend910_9391")])
def test_the_simulated_npu_smi_is_read_as_the_real_one(devices: int, soc: str, tmp_path: Path) -> None:
    settings = Settings(devices=devices, soc=soc, memory=32 << 30, cache=str(tmp_path / "cache"))
    folder, _, rest = npu_smi.on_path(settings, "/usr/bin").partition(os.pathsep)
    assert rest == "/usr/bin"

    def said(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([f"{folder}/npu-smi", *words], capture_output=True, text=True, check=True)

    table = said("info").stdout
    assert "Simulated by npuify" in table
    assert len({len(line) for line in table.splitlines()}) == 1, table
    cards = parse(table).cards
    assert [(card.npu, card.name, card.health, card.hbm_used, card.hbm_total) for card in cards] == [
        (number, soc.removeprefix("Ascend"), "OK", 0, 32 << 10) for number in range(devices)
    ]
    assert said("info", "-l").stdout.count("NPU ID") == devices
    assert said("info", "-m").stdout.count(soc) == devices
    other = said("info", "-t", "usages", "-i", "0")
    assert other.stdout == "" and "simulated" in other.stderr


def test_where_it_cannot_be_written_the_path_stays(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert npu_smi.on_path(Settings(cache=str(tmp_path / "file")), "/usr/bin") == "/usr/bin"


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.parametrize(
    ("language", "hint"), [("en", "The simulated machine has npu-smi, and no nvidia-smi"), ("zh", "没有 nvidia-smi")]
)
def test_a_script_finds_npu_smi_and_is_told_of_what_is_missing(language: str, hint: str, tmp_path: Path) -> None:
    """Under ``set -e`` a script stopped at npu-smi, and nothing said that a simulated machine has no such tools."""
    cache = str(tmp_path / "cache")

    def run(text: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "run.sh").write_text(f"set -e\n{text}\n")
        command = [
            sys.executable,
            "-m",
            "npuify",
            "--language",
            language,
            "simulate",
            "--devices",
            "2",
            "bash",
            "run.sh",
        ]
        environ = {**environment(), "XDG_CACHE_HOME": cache}
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environ, timeout=300)

    fine = run("npu-smi info\necho went on")
    assert fine.returncode == 0 and "went on" in fine.stdout and "910B1" in fine.stdout and hint not in fine.stderr
    lacking = run("no-such-nvidia-smi\necho went on")
    assert lacking.returncode == 127 and "went on" not in lacking.stdout and hint in lacking.stderr
    assert run("exit 3").returncode == 3
    assert run("kill -TERM $$").returncode == 128 + 15


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_shell_gets_the_signals_of_npuify(tmp_path: Path) -> None:
    script = "trap 'echo told; exit 5' TERM; echo ready; while :; do sleep 0.1; done"
    program = (
        "import os, sys; from npuify.process.command import watched; "
        f"sys.exit(watched(['bash', '-c', {script!r}], dict(os.environ)))"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment())
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.terminate()
    assert process.communicate(timeout=60)[0] == "told\n" and process.returncode == 5
