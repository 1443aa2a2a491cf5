"""The report's forms, the script that mends, the project, the smoke tests, and the command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import jsonschema
import msgspec
import pytest
from typer.testing import CliRunner

import npuify
from npuify.cli.app import app
from npuify.doctor.capture import encode_capture
from npuify.doctor.checks import all_checks
from npuify.doctor.examine import check_environment, judge
from npuify.doctor.facts import Facts, gather
from npuify.doctor.fixes import fix_script
from npuify.doctor.page import render_html
from npuify.doctor.project import judge_project, scanned_for
from npuify.doctor.sets import judge_set, nearest_set
from npuify.doctor.smoke import PROGRAMS, run_limited, run_smoke
from npuify.doctor.text import json_schema, render_json, render_text
from npuify.model import NpuifyError
from npuify.report.doctor import VERSION, Report, Result, Status
from tests.hanging import Hanging

from .machines import BROKEN, HEALTHY, load

posix = pytest.mark.skipif(sys.platform == "win32", reason="the fake Python is a shell script")


@pytest.fixture
def captured(tmp_path: Path):  # type: ignore[no-untyped-def]
    def write(name: str) -> Path:
        file = tmp_path / f"{name}.json"
        file.write_bytes(encode_capture(load(name)))
        return file

    return write


def report(captured, name: str, **options) -> Report:  # type: ignore[no-untyped-def]
    return check_environment(captured=captured(name), **options)


@pytest.mark.parametrize(
    ("name", "code"), [("a2", 0), ("broken_memory", 1), ("broken_firmware", 3), ("broken_cuda_packages", 1)]
)
def test_the_exit_code_follows_the_worst_result(captured, name: str, code: int) -> None:  # type: ignore[no-untyped-def]
    done = CliRunner().invoke(app, ["doctor", "--from", str(captured(name))])
    assert done.exit_code == code, done.output


def test_wrong_use_is_two(captured, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    run = CliRunner().invoke
    assert run(app, ["doctor", "--from", str(tmp_path / "none.json")]).exit_code == 2
    assert run(app, ["doctor", "--from", str(captured("a2")), "--root", str(tmp_path)]).exit_code == 2
    assert run(app, ["doctor", "--from", str(captured("a2")), "--mirror", "https://x/simple"]).exit_code == 2
    assert run(app, ["doctor", "--from", str(captured("a2")), "--project", str(tmp_path / "no")]).exit_code == 2


def test_json_has_a_version_and_the_stable_names(captured) -> None:  # type: ignore[no-untyped-def]
    done = CliRunner().invoke(app, ["doctor", "--from", str(captured("broken_firmware")), "--format", "json"])
    told = json.loads(done.output)
    assert told["version"] == VERSION == 1
    assert told["results"][0]["check"] == "driver.firmware"
    assert told["machine"]["cards"][0]["product"] == "Atlas A2"
    again = msgspec.json.decode(done.output.encode(), type=Report)
    assert render_json(again) == done.output


def test_the_names_of_checks_are_stable() -> None:
    """A name here never goes away and never changes its meaning; add new ones at their place."""
    assert {one.name for one in all_checks()} == set(
        """cann.architecture cann.environment cann.installed cann.kernels cann.loaded-twice cann.parts cann.python-packages cann.several
        cards.health cards.memory cards.processes cards.same cards.seen container.mounts container.runtime devices.files
        devices.permission driver.cann driver.firmware driver.version environment.debug environment.visible-devices hccl.addresses versions.vllm
        hccl.links hccl.network hccl.ports hccl.rank-table hccl.subnets hccl.tls hccl.variables host.disk
        paddle.plugin paddle.set
        host.shared-memory nnal.environment python.cuda-packages python.found python.numpy python.torch
        python.torch-build tensorflow.adapter tensorflow.chip tensorflow.environment tensorflow.set versions.set""".split()
    )


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.names.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_html_runs_nothing_that_a_machine_says(captured, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    hostile = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    capture = load("broken_health")
    table = capture.commands["npu-smi info"]
    commands = {
        **capture.commands,
        "npu-smi info": msgspec.structs.replace(table, stdout=table.stdout.replace("Alarm", hostile)),
    }
    file = tmp_path / "x.json"
    file.write_bytes(encode_capture(msgspec.structs.replace(capture, commands=commands)))
    page = render_html(check_environment(captured=file))
    tags = Tags()
    tags.feed(page)
    assert "script" not in tags.names and "img" not in tags.names
    assert any("<script>alert(1)</script>" in text for text in tags.texts)
    assert "default-src 'none'" in page and "http://" not in page


@pytest.mark.parametrize("name", [*HEALTHY, *BROKEN])
def test_every_report_is_written_in_every_form(captured, name: str) -> None:  # type: ignore[no-untyped-def]
    found = report(captured, name)
    text = render_text(found)
    assert all(one.check in text for one in found.results if one.status in (Status.ERROR, Status.WARNING))
    assert render_html(found).startswith("<!DOCTYPE html>")
    jsonschema.validate(json.loads(render_json(found)), json.loads(json_schema()))


@posix
@pytest.mark.parametrize("name", [*HEALTHY, *BROKEN])
def test_the_script_is_one_that_a_shell_can_read(captured, name: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    script = tmp_path / "fix.sh"
    script.write_text(fix_script(report(captured, name)))
    done = subprocess.run(["sh", "-n", str(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_script_installs_from_the_mirror(captured) -> None:  # type: ignore[no-untyped-def]
    script = fix_script(report(captured, "broken_cuda_wheel"), "https://mirror.example/pypi/simple")
    lines = [line for line in script.splitlines() if line.startswith("pip install")]
    assert lines and all("--index-url https://mirror.example/pypi/simple" in line for line in lines)
    # The mirror seldom has torch's builds for the CPU, so their index stays.
    assert "torch==2.5.1+cpu" in lines[0] and '--extra-index-url "$PYTORCH_CPU_INDEX"' in lines[0]
    with pytest.raises(NpuifyError, match="package index"):
        fix_script(report(captured, "a2"), "https://x/; rm -rf /")


def test_text_of_the_machine_cannot_become_a_command(captured, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    capture = load("a2")
    environment = {**capture.environment, "ASCEND_RT_VISIBLE_DEVICES": "0\ntouch /tmp/owned\n"}
    file = tmp_path / "x.json"
    file.write_bytes(encode_capture(msgspec.structs.replace(capture, environment=environment)))
    script = fix_script(check_environment(captured=file))
    assert not [line for line in script.splitlines() if line.startswith("touch")]


def facts(name: str) -> Facts:
    return gather(load(name).machine())


@pytest.mark.parametrize(
    ("name", "torch_npu", "cann"),
    [
        ("broken_torch_does_not_match", "2.9.0", "8.5.0"),
        ("broken_several_wrong_one", "2.7.1.post2", "8.5.0"),
        ("broken_cann_too_old", "2.6.0", "8.2.RC1"),
    ],
)
def test_the_nearest_set_keeps_what_is_hard_to_change(name: str, torch_npu: str, cann: str) -> None:
    chosen = nearest_set(facts(name))
    assert chosen is not None
    assert (chosen.torch_npu, chosen.cann) == (torch_npu, cann)


def test_the_cann_that_would_fit_is_named() -> None:
    problem = judge_set(facts("broken_several_wrong_one"))
    assert problem is not None and "/usr/local/Ascend/cann-9.0.0" in problem.message


def judged(machine: str, project: Path) -> tuple[Result, ...]:
    found = facts(machine)
    return judge_project(found, project, scanned_for(found, project))


def test_a_project_that_the_chip_cannot_run(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\nx = torch.zeros(2, dtype=torch.bfloat16).cuda()\n")
    (tmp_path / "requirements.txt").write_text("torch==2.6.0\n")
    found = {one.check: one for one in judged("310p_x86", tmp_path)}
    assert found["project.bfloat16"].status is Status.ERROR and "train.py:2" in found["project.bfloat16"].message
    assert "requirements.txt:1" in found["project.requirements"].message
    a2 = {one.check for one in judged("a2", tmp_path)}
    assert "project.bfloat16" not in a2


def test_a_project_that_is_ready(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\nimport torch_npu\nx = torch.zeros(2).npu()\n")
    assert judged("a2", tmp_path) == ()


def test_a_project_on_tensorflow_is_not_told_to_install_torch(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import tensorflow as tf\n\nwith tf.Session() as sess:\n    sess.run(x)\n")
    report = check_environment(project=tmp_path, python=sys.executable, smoke=False)
    told = {one.check: one for one in report.results}
    assert "python.torch" not in told
    assert "tensorflow-cpu==1.15.0" in told["tensorflow.adapter"].message


def fake_python(folder: Path, body: str) -> str:
    program = folder / "python"
    program.write_text(f"#!{sys.executable}\nimport sys, time\ncode = sys.argv[2]\n{body}\n")
    program.chmod(0o755)
    return str(program)


@posix
def test_smoke_programs_are_run_one_by_one(tmp_path: Path) -> None:
    python = fake_python(tmp_path, "")
    assert [one.status for one in run_smoke(facts("a2"), python)] == [Status.OK] * len(PROGRAMS)
    one_card = msgspec.structs.replace(
        facts("a2"), smi=msgspec.structs.replace(facts("a2").smi, cards=facts("a2").smi.cards[:1])
    )
    assert run_smoke(one_card, python)[-1].status is Status.SKIPPED


@posix
def test_smoke_programs_do_what_they_say(tmp_path: Path) -> None:
    """On simulated cards; the last of them needs two processes that find each other."""
    pytest.importorskip("torch")
    if not any(shutil.which(name) for name in ("g++", "clang++", "c++")):
        pytest.skip("no C++ compiler")
    script = tmp_path / "try.py"
    script.write_text(
        "from npuify.doctor import smoke\n"
        "for program in smoke.PROGRAMS[-2:]:\n"
        "    code, output = smoke.run_limited([__import__('sys').executable, '-c', program.code], 200)\n"
        "    print(program.name, code, output[-2000:] if code else '')\n"
        "wrong = smoke.PROGRAMS[-1].code.replace('3 * 1024', '4 * 1024')\n"
        "code, output = smoke.run_limited([__import__('sys').executable, '-c', wrong], 200)\n"
        "print('wrong', code, 'AssertionError: 3072' in output)\n"
    )
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    command = [sys.executable, "-m", "npuify", "simulate", "--devices", "2", str(script)]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert done.stdout.split("\n") == ["smoke.amp 0 ", "smoke.all-reduce 0 ", "wrong 1 True", ""], done.stderr


@posix
def test_a_smoke_program_that_fails_says_why_and_ends_the_row(tmp_path: Path) -> None:
    python = fake_python(tmp_path, "if ' @ ' in code: raise SystemExit('RuntimeError: error code is 507015')")
    found = {one.check: one for one in run_smoke(facts("a2"), python)}
    assert found["smoke.add"].status is Status.OK
    assert found["smoke.matmul"].status is Status.ERROR and "507015" in found["smoke.matmul"].message
    assert found["smoke.backward"].status is Status.SKIPPED


@posix
def test_a_smoke_program_that_hangs_is_stopped_with_its_children(tmp_path: Path) -> None:
    hanging = Hanging(tmp_path)
    python = fake_python(tmp_path, hanging.program)
    with hanging:
        found = run_smoke(facts("a2"), python, limit=1.0)
    assert found[0].status is Status.ERROR and "longer than 1 s" in found[0].message
    assert not hanging.late()


def test_every_smoke_program_compiles() -> None:
    for program in PROGRAMS:
        compile(program.code, program.name, "exec")
    assert run_limited([sys.executable, "-c", "print(1)"], 30)[0] == 0
    assert run_limited([os.devnull + "/no", "x"], 5)[0] == 127


def test_a_check_that_fails_itself_does_not_end_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    from npuify.doctor.checks import base

    def raises(facts: Facts):  # type: ignore[no-untyped-def]
        raise RuntimeError("strange machine")
        yield

    assert all_checks()  # they are loaded with the first question for them
    monkeypatch.setitem(base._checks, "cards.health", base._checks["cards.health"]._replace(judge=raises))
    results, checks = judge(facts("a2"))
    assert [one.message for one in results if one.check == "cards.health"] == [
        "this check itself failed: RuntimeError: strange machine"
    ]
    assert len(checks) == len(all_checks())


def test_the_public_function(captured) -> None:  # type: ignore[no-untyped-def]
    assert npuify.check_environment(captured=captured("a2")).worst is Status.OK or (
        npuify.check_environment(captured=captured("a2")).worst is Status.INFO
    )


def test_nothing_is_written_where_nothing_was_asked_for(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "npuify", "doctor", "--no-smoke"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode in (0, 1, 3), done.stderr
    assert list(tmp_path.iterdir()) == []


def on_paddle(folder: Path, requires: str, packages: dict[str, str], cann: str = "8.0.0") -> dict[str, str]:
    """What is said of a project on PaddlePaddle on the A2 with these packages and this CANN, by check."""
    from npuify.doctor.project import paddle_required, scanned_for

    (folder / "train.py").write_text("import paddle\n\npaddle.set_device('npu')\n")
    (folder / "requirements.txt").write_text(requires)
    replace = msgspec.structs.replace
    known = facts("a2")
    known = replace(known, python=replace(known.python, packages=packages))
    assert known.cann.active is not None
    known = replace(known, cann=replace(known.cann, active=replace(known.cann.active, version=cann)))
    results, _ = judge(replace(known, paddle=paddle_required(scanned_for(known, folder), folder)))
    told = [
        one for one in results if one.status in BAD and one.check.startswith(("paddle.", "versions.", "python.torch"))
    ]
    return {one.check: f"{one.message}; {one.mend.commands if one.mend else ''}" for one in told}


BAD = (Status.ERROR, Status.WARNING)
PADDLE = {"paddlepaddle": "3.0.0", "paddle-custom-npu": "3.0.0"}


def test_a_project_on_paddle_is_judged_by_its_own_set(tmp_path: Path) -> None:
    assert on_paddle(tmp_path, "paddlepaddle==3.0.0\n", PADDLE) == {}
    assert on_paddle(tmp_path, "paddlepaddle>=2.6\n", {**PADDLE, "torch": "2.8.0"}) == {}


@pytest.mark.parametrize(
    ("requires", "packages", "check", "words"),
    [
        ("paddlepaddle-gpu==3.1.0\n", {}, "paddle.plugin", "paddle-custom-npu==3.1.0"),
        ("numpy\n", {"numpy": "1.26"}, "paddle.plugin", "paddlepaddle==3.0.0"),
        ("paddlepaddle-gpu==2.6.2.post120\n", {"paddlepaddle": "2.6.2"}, "paddle.plugin", "paddle-custom-npu; "),
        ("numpy\n", {"paddlepaddle-gpu": "3.0.0"}, "paddle.plugin", "pip uninstall -y paddlepaddle-gpu"),
        ("numpy\n", {**PADDLE, "paddlepaddle": "3.2.0"}, "paddle.set", "paddlepaddle 3.2.0"),
        ("paddlepaddle==3.1.0\n", PADDLE, "paddle.set", "requires PaddlePaddle 3.1.0"),
    ],
)
def test_what_a_project_on_paddle_lacks(
    requires: str, packages: dict[str, str], check: str, words: str, tmp_path: Path
) -> None:
    told = on_paddle(tmp_path, requires, packages)
    assert set(told) == {check}
    assert words in told[check]


def test_the_plugin_of_paddle_is_for_one_cann(tmp_path: Path) -> None:
    told = on_paddle(tmp_path, "paddlepaddle==3.0.0\n", PADDLE, cann="8.5.1")
    assert set(told) == {"paddle.set"} and "CANN 8.0" in told["paddle.set"]


def test_a_python_for_paddle_is_not_told_to_install_torch() -> None:
    known = facts("a2")
    replace = msgspec.structs.replace
    results, _ = judge(replace(known, python=replace(known.python, packages=PADDLE)))
    assert not any(one.check.startswith("python.torch") for one in results if one.status in BAD)


def test_a_project_on_vllm_is_asked_for_one_torch_only(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("vllm==0.11.0\n")
    (tmp_path / "serve.py").write_text("from vllm import LLM\n")
    results = check_environment(project=tmp_path, python=sys.executable, smoke=False).results
    assert not any(one.check == "python.torch" for one in results)
    told = [one.message for one in results if one.check == "project.vllm"]
    assert any("torch-npu 2.7.1" in one for one in told) and any("NNAL" in one for one in told)


def test_a_project_on_paddle_is_not_told_to_install_torch(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import paddle\n\npaddle.set_device('npu')\n")
    told = {one.check: one for one in check_environment(project=tmp_path, smoke=False).results}
    assert "python.torch" not in told
    assert "paddle-custom-npu" in told["paddle.plugin"].message
