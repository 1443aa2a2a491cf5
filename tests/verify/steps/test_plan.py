"""What is run, where nobody says it; and how a command is run and ended."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING

import pytest

from npuify.model import EntryPoint, Mention, NpuifyError
from npuify.verify.steps.plan import (
    checkpoints,
    filled,
    longer,
    make_plan,
    own_input,
    resume_option,
    with_data,
)
from npuify.verify.steps.prepare import data_path, put_data
from npuify.verify.steps.runner import Ran, run
from npuify.verify.steps.start import in_a_line, split
from npuify.verify.steps.switches import with_cuda, without_cuda
from tests.hanging import Hanging

if TYPE_CHECKING:
    from pathlib import Path


def points(*files: str) -> list[EntryPoint]:
    return [EntryPoint(file, (Mention("documentation", "README.md", 3, f"python {file} --steps 3"),)) for file in files]


def test_the_program_that_trains(tmp_path: Path) -> None:
    assert make_plan(tmp_path, points("train.py", "sample.py", "tools/train_all.py")).entry == ("train.py",)
    assert make_plan(tmp_path, points("run.py", "sample.py")).entry == ("run.py",)
    (tmp_path / "a.py").write_text("print()")
    assert make_plan(tmp_path, [], entry="python  a.py --x 'b c'").entry == ("a.py", "--x", "b c")
    for unclear in (points("train_a.py", "train_b.py"), points("sample.py"), []):
        with pytest.raises(NpuifyError) as caught:
            make_plan(tmp_path, unclear)
        assert "--entry" in caught.value.advice
    with pytest.raises(NpuifyError) as caught:
        make_plan(tmp_path, points("train_a.py", "train_b.py"))
    assert "python train_a.py --steps 3" in caught.value.advice
    (tmp_path / "main.py").write_text("print()")
    assert make_plan(tmp_path, []).entry == ("main.py",)
    with pytest.raises(NpuifyError, match="not a command"):
        make_plan(tmp_path, [], entry="train.py 'unclosed")


def test_several_cards(tmp_path: Path) -> None:
    for name in ("train.py", "a.py", "b.py"):
        (tmp_path / name).write_text("print()")
    alone = make_plan(tmp_path, points("train.py"))
    assert alone.cards == ()
    assert "one card only" in alone.why_no_cards
    (tmp_path / "model.py").write_text("from torch.nn.parallel import DistributedDataParallel")
    plan = make_plan(tmp_path, points("train.py"), count=4)
    assert plan.cards == ("torchrun", "--standalone", "--nproc_per_node=4", "train.py")
    assert any("torchrun" in line for line in plan.guessed)
    short = make_plan(tmp_path, points("train.py"), count=4, short=True)
    assert any("several cards: not run here" in one for one in short.guessed)
    assert not any("not run" in one for one in plan.guessed)
    launched = make_plan(tmp_path, [], entry="torchrun --nproc_per_node=2 train.py")
    assert launched.cards == launched.entry
    assert make_plan(tmp_path, [], entry="a.py", cards="torchrun b.py").cards == ("torchrun", "b.py")


def test_a_program_that_is_not_there_is_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print()")
    for choices in ({"entry": "torchrun trian.py"}, {"entry": "train.py", "resume": "resume.py --x=a.py"}):
        with pytest.raises(NpuifyError, match=r"no such program: (trian|resume)\.py") as caught:
            make_plan(tmp_path, points("train.py"), **choices)  # type: ignore[arg-type]
        assert "programs: train.py" in caught.value.advice
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "many.py").write_text("print()")
    assert make_plan(tmp_path, [], entry="train.py", cards="many.py", migrated=tmp_path / "copy").cards == ("many.py",)
    assert make_plan(tmp_path / "train.py", [], entry="train.py").entry == ("train.py",)


@pytest.mark.parametrize(
    ("program", "text", "folder"),
    [
        # As in Bai's TCN: modules are imported from a folder that is named from the program's own.
        ("tasks/copy/run.py", "import sys\nsys.path.append('../../')\nfrom tasks.copy import helper\n", "tasks/copy"),
        ("tasks/copy/run.py", "import sys, os\nsys.path.insert(0, os.path.abspath('..'))\nimport copy\n", "tasks/copy"),
        # As in Kipf's pygcn: a module that the program imports reads its data so.
        ("tasks/copy/run.py", "import helper\n", "tasks/copy"),
        ("tasks/copy/run.py", "open('../settings.yaml')\n", "tasks/copy"),
        ("tasks/copy/run.py", "open('copy/table.csv')\n", "tasks"),
        # What is there from the project's folder, from anywhere, or nowhere.
        ("tasks/copy/run.py", "open('data/cora.csv')\nopen('table.csv')\n", ""),
        ("tasks/copy/run.py", "import os\nopen(os.path.join(os.path.dirname(__file__), 'table.csv'))\n", ""),
        ("tasks/copy/run.py", "open(here / 'table.csv')\n", ""),
        ("tasks/copy/run.py", "import sys\nsys.path.append('..')\nimport torch\nopen('out/log.txt')\n", ""),
        ("run.py", "open('table.csv')\n", ""),
    ],
)
def test_the_folder_to_start_in_is_found(tmp_path: Path, program: str, text: str, folder: str) -> None:
    for name in ("data/cora.csv", "tasks/settings.yaml", "tasks/copy/table.csv", program):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "tasks" / "copy" / "helper.py").write_text("FILE = '../../data/cora.csv'\n")
    (tmp_path / program).write_text(text)
    plan = make_plan(tmp_path, [], entry=f"python {program} --steps 2")
    assert (plan.folder, plan.entry[1:]) == (folder, ("--steps", "2"))
    assert f"{folder}/{plan.entry[0]}".lstrip("/") == program
    assert bool(plan.guessed) == bool(folder)
    if folder:
        # An argument that is a path of the project's folder would be none there.
        assert make_plan(tmp_path, [], entry=f"{program} --data=data/cora.csv").folder == ""


def test_a_command_may_say_where_it_is_started(tmp_path: Path) -> None:
    (tmp_path / "own tasks").mkdir()
    (tmp_path / "own tasks" / "run.py").write_text("")
    for text in ("cd 'own tasks' && python run.py -n 1", "cd './own tasks/'; run.py -n 1"):
        plan = make_plan(tmp_path, [], entry=text, resume="run.py --resume")
        assert (plan.folder, plan.entry, plan.resume) == ("own tasks", ("run.py", "-n", "1"), ("run.py", "--resume"))
    written = in_a_line(plan.entry, plan.folder)
    assert written == "cd 'own tasks' && python run.py -n 1" and split(written) == (plan.folder, plan.entry)
    assert in_a_line(("torchrun", "a.py"), "x") == "cd x && torchrun a.py"
    for wrong, said in (
        ("cd gone && python run.py", "gone is not a folder"),
        ("cd .. && python run.py", "is not a folder of the project"),
        ("cd 'own tasks'", "not a command"),
        ("cd 'own tasks' && python gone.py", "no such program"),
        ("run.py && python b.py", "more than one command"),
    ):
        with pytest.raises(NpuifyError, match=said):
            make_plan(tmp_path, [], entry=wrong)
    with pytest.raises(NpuifyError, match="one folder"):
        make_plan(tmp_path, [], entry="cd 'own tasks' && run.py", resume="cd x && run.py")


def test_devices_in_commands() -> None:
    words = ["train.py", "--device={device}:0", "--backend={backend}"]
    assert filled(words, "npu") == ["train.py", "--device=npu:0", "--backend=hccl"]
    assert filled(words, "cpu") == ["train.py", "--device=cpu:0", "--backend=gloo"]
    assert filled(words, "cuda")[2] == "--backend=nccl"


def test_going_on(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text('parser.add_argument("--resume", default="")')
    (tmp_path / "other.py").write_text("print()")
    assert resume_option(tmp_path, ["train.py", "--epochs=1"]) == "--resume"
    assert resume_option(tmp_path, ["other.py"]) == ""
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "run.py").write_text('parser.add_argument("--resume-from")')
    assert resume_option(tmp_path, ["torchrun", "-m", "pack.run", "--x"]) == "--resume-from"
    assert resume_option(tmp_path, ["-m", "pack.gone"]) == ""
    assert resume_option(tmp_path, ["torchrun"]) == ""
    assert longer(["train.py", "--epochs=2", "--steps-per-epoch=3"]) == [
        "train.py",
        "--epochs=4",
        "--steps-per-epoch=3",
    ]
    assert longer(["train.py", "--steps", "5"]) == ["train.py", "--steps", "10"]
    assert longer(["train.py", "--set=train.steps=6"])[1] == "--set=train.steps=12"
    assert longer(["train.py", "--warmup-per=3", "--save", "4"]) == []
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "last.pt").write_bytes(b"x")
    (tmp_path / "out" / "log.txt").write_bytes(b"x")
    for path in (tmp_path / "out").iterdir():
        os.utime(path, (1000, 1000))
    assert [path.name for path in checkpoints(tmp_path, 999)] == ["last.pt"]
    assert checkpoints(tmp_path, 1001) == []


def test_what_a_run_came_to(tmp_path: Path) -> None:
    fine = run([sys.executable, "-c", "print('hello')"], tmp_path, tmp_path / "a.log")
    assert (fine.fine, fine.tail()) == (True, ("hello",))
    failed = run([sys.executable, "-c", "import os; os.environ['LOCAL_RANK']"], tmp_path, tmp_path / "b.log", shown="x")
    assert failed.why() == "ended with KeyError: 'LOCAL_RANK'"
    assert "torchrun" in failed.advice()
    missing = run(["no-such-command-at-all"], tmp_path, tmp_path / "c.log")
    assert missing.code == 127


def test_a_device_that_the_program_no_longer_takes_is_told(tmp_path: Path) -> None:
    """--entry "train.py --device cuda" was refused by the migrated program, and the advice was to diagnose it."""
    program = (
        "import argparse; parser = argparse.ArgumentParser(); parser.add_argument('-d', '--device', "
        "choices=['npu', 'cpu']); parser.add_argument('--size', choices=['s', 'm']); parser.parse_args()"
    )
    words = ["-c", program, "--device", "cuda"]
    refused = run([sys.executable, *words], tmp_path, tmp_path / "a.log")
    assert refused.code == 2
    assert "-d/--device does not take cuda" in refused.advice() and "write {device} in --entry" in refused.advice()
    other = run([sys.executable, "-c", program, "--size", "cuda-like"], tmp_path, tmp_path / "b.log")
    assert other.code == 2 and "{device}" not in other.advice()
    (tmp_path / "c.log").write_text("Error: Invalid value for '--device': 'cuda:0' is not one of 'npu', 'cpu'.\n")
    assert "--device does not take cuda:0" in Ran((), "", 2, 1.0, False, str(tmp_path / "c.log")).advice()


@pytest.mark.skipif(sys.platform == "win32", reason="process groups")
def test_a_run_that_does_not_end_is_ended_with_its_children(tmp_path: Path) -> None:
    with Hanging(tmp_path) as hanging:
        ran = run([sys.executable, "-c", hanging.program], tmp_path, tmp_path / "a.log", timeout=0.7)
    assert ran.timed_out
    assert "did not finish within" in ran.why()
    assert "--timeout" in ran.advice()
    assert not hanging.late()


def test_the_cause_of_a_failure_is_found_among_the_launcher_s_words(tmp_path: Path) -> None:
    log = (
        "[rank0]: Traceback (most recent call last):\n"
        '[rank0]:   File "train.py", line 92, in <module>\n'
        "[rank0]:     assert accumulation % world == 0\n"
        "[rank0]:            ^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "[rank0]: AssertionError\n"
        "Traceback (most recent call last):\n"
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n====\n"
    )
    program = f"import sys; sys.stdout.write({log!r}); sys.exit(1)"
    ran = run([sys.executable, "-c", program], tmp_path, tmp_path / "a.log")
    assert ran.cause() == "AssertionError at assert accumulation % world == 0"
    assert ran.seen()[-1] == "AssertionError"
    quiet = run([sys.executable, "-c", "print('3 Errors: none'); raise SystemExit(3)"], tmp_path, tmp_path / "b.log")
    assert (quiet.cause(), quiet.why(), quiet.seen()) == ("", "exited with code 3", ("3 Errors: none",))


def test_a_processor_that_refuses_an_instruction_is_named(tmp_path: Path) -> None:
    """Itself, or a process below a launcher that tells of it."""
    killed = run(
        [sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGILL)"], tmp_path, tmp_path / "log"
    )
    assert killed.why() == "was killed by signal 4"
    assert "ONEDNN_MAX_CPU_ISA" in killed.advice()
    (tmp_path / "other").write_text("Signal 4 (SIGILL) received by PID 7\n")
    assert "ONEDNN_MAX_CPU_ISA" in Ran((), "", 1, 1.0, False, str(tmp_path / "other")).advice()


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("parser.add_argument('--dummy', action='store_true', help='use fake data to benchmark')", "--dummy"),
        ('group.add_argument("--synthetic-data", action="store_true")', "--synthetic-data"),
        ('p.add_argument("-f", "--use_fake_data", default=False, action="store_true")', "--use_fake_data"),
        ('p.add_argument("--mock-data", type=str)', ""),
        ('p.add_argument("--random-erase", action="store_true")', ""),
    ],
)
def test_an_option_by_which_a_program_makes_its_input(tmp_path: Path, line: str, option: str) -> None:
    (tmp_path / "train.py").write_text(f"import argparse\n{line}\n")
    assert own_input(tmp_path, ["train.py", "--epochs", "1"]) == option
    assert own_input(tmp_path, ["other.py"]) == ""


@pytest.mark.parametrize(
    ("line", "entry", "given"),
    [
        ("p.add_argument('--device', default='cuda', type=str)", "train.py --n 1", ["--device", "{device}"]),
        ('p.add_argument("-d", "--device", type=str, default="cuda:0")', "train.py", ["--device", "{device}"]),
        ("p.add_argument('--device', default='cuda')", "train.py --device cuda", []),
        ("p.add_argument('--device', default='cuda')", "train.py --device={device}", []),
        ("p.add_argument('--device', default='cpu')", "train.py", []),
        ("p.add_argument('--devices', default='cuda')", "train.py", []),
    ],
)
def test_an_original_that_takes_cuda_by_default_is_told_its_device(
    tmp_path: Path, line: str, entry: str, given: list[str]
) -> None:
    (tmp_path / "train.py").write_text(f"import argparse\n{line}\n")
    plan = make_plan(tmp_path, [], entry=entry)
    assert plan.entry == tuple(entry.split()) and plan.reference_entry == (*entry.split(), *given)
    assert bool(given) == any("--device" in one for one in plan.guessed)
    assert make_plan(tmp_path, [], entry=entry, reference_entry="train.py").reference_entry == ("train.py",)


def test_commands_are_shown_as_they_can_be_typed() -> None:
    words = ["train.py", "MODEL.WEIGHTS", "", "SIZE", "(64,)", "--device={device}", "a b"]
    assert in_a_line(words) == "train.py MODEL.WEIGHTS '' SIZE '(64,)' --device={device} 'a b'"


def test_data_is_put_into_both_copies(tmp_path: Path) -> None:
    given = tmp_path / "given" / "some set"
    given.mkdir(parents=True)
    (given / "a.bin").write_text("a")
    copies = [tmp_path / "original", tmp_path / "target"]
    for copy in copies:
        (copy / "data" / "train").mkdir(parents=True)
        (copy / "data" / "train" / "README").write_text("download it from …")
    told, place = put_data(f"data/train={given}", copies), str(data_path(f"data/train={given}")[1])
    assert "data/train" in told and place == str(given)
    assert all((copy / "data" / "train" / "a.bin").read_text() == "a" for copy in copies)
    put_data(str(given), copies)
    assert all((copy / "some set" / "a.bin").is_file() for copy in copies)
    (tmp_path / "train.py").write_text("")
    plan = make_plan(tmp_path, [], entry="train.py --root={data} {device}")
    assert with_data(plan, place).entry == ("train.py", f"--root={place}", "{device}")
    # Programs that are started in a folder look for it from there.
    put_data(f"../found={given}", copies, "tools/own")
    assert all((copy / "tools" / "found" / "a.bin").is_file() for copy in copies)
    for wrong in (str(tmp_path / "none"), f"../out={given}", f"/etc={given}", f"={given}", "data="):
        with pytest.raises(NpuifyError):
            put_data(wrong, copies)


@pytest.mark.parametrize(
    ("option", "words", "off", "on"),
    [
        ("'--cuda', action='store_true'", "--cuda", "", "--cuda"),
        ("'-g', '--use-gpu', action='store_true'", "-g", "", "--use-gpu"),
        # As in Bai's TCN: the option turns off what is on.
        ("'--cuda', action='store_false', help='use CUDA (default: True)'", "", "--cuda", ""),
        ("'--no-cuda', action='store_true'", "", "--no-cuda", ""),
        ("'--use-cpu', action='store_true'", "", "--use-cpu", ""),
        ("'--use_cuda', type=str2bool, default=True", "", "--use_cuda False", "--use_cuda True"),
        ("'--cuda', type=bool, default=True", "--cuda=1", "--cuda ''", "--cuda 1"),
        ("'--gpu', type=int, default=0", "--gpu 0", "--gpu -1", "--gpu 0"),
        ("'--cuda', action=argparse.BooleanOptionalAction", "--cuda", "--no-cuda", "--cuda"),
        # What decides nothing of this, or not in a way that the text tells.
        ("'--gpus', type=str, default='0,1'", "--gpus 0", "--gpus 0", "--gpus 0"),
        ("'--cuda-cache', action='store_true'", "--cuda-cache", "--cuda-cache", "--cuda-cache"),
    ],
)
def test_options_that_turn_cuda_on_or_off(tmp_path: Path, option: str, words: str, off: str, on: str) -> None:
    """They are found in a module that the program imports, too."""
    (tmp_path / "options.py").write_text(f"parser.add_argument({option})\nif args.gpu >= 0: pass\n")
    (tmp_path / "train.py").write_text("import options\n")
    command = ["train.py", *shlex.split(words)]
    assert without_cuda(tmp_path, command) == ("train.py", *shlex.split(off))
    assert with_cuda(tmp_path, command) == ("train.py", *shlex.split(on))


def test_what_a_parser_of_options_refuses_is_the_cause(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text("import argparse\nargparse.ArgumentParser().parse_args()\n")
    ran = run([sys.executable, str(program), "--stepps", "2"], tmp_path, tmp_path / "log")
    assert ran.cause() == "train.py: error: unrecognized arguments: --stepps 2"
