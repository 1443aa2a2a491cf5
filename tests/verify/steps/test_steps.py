"""Each step's judgement of captures whose faults are known, and the words that are said of them."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from npuify.model import NpuifyError
from npuify.verify.steps import captured, long_runs
from npuify.verify.steps.bench import Bench, copy, own_modules
from npuify.verify.steps.model import AcceptanceReport, Devices, Status, StepResult, Where
from npuify.verify.steps.page import render_html
from npuify.verify.steps.plan import Plan
from npuify.verify.steps.run import _run, _verdict, accept, worst
from npuify.verify.steps.runner import Ran
from npuify.verify.steps.text import render_json, render_text

if TYPE_CHECKING:
    from collections.abc import Sequence

DEVICES = Devices("python", "2.13.0", "", 0, 0)


def write(folder: Path, rows: Sequence[dict[str, Any]], rank: int = 0) -> None:
    (folder / f"rank{rank}").mkdir(parents=True, exist_ok=True)
    (folder / "capture.json").write_text(json.dumps({"format": 1, "device": "simulated"}))
    text = "\n".join(map(json.dumps, [{"event": "process", "rank": rank, "simulated": True}, *rows]))
    (folder / f"rank{rank}" / "records.jsonl").write_text(text + "\n")


def step(
    device: str = "npu:0",
    nan: int = 0,
    gradient_nan: int = 0,
    loss: float | str = 1.0,
    norm: float = 1.0,
    number: int = 0,
) -> list[dict[str, Any]]:
    return [
        {"event": "call", "step": number, "name": "model.layer", "outputs": [{"device": device, "nan": nan, "inf": 0}]},
        {"event": "gradient", "step": number, "is": {"nan": gradient_nan, "inf": 0}},
        {"event": "loss", "step": number, "number": 1, "value": loss},
        {"event": "optimizer", "step": number, "class": "SGD", "groups": [{"parameters": ["model.layer.weight"]}]},
        {
            "event": "value",
            "kind": "parameter",
            "when": "after",
            "name": "w",
            "step": number,
            "is": {"mean": 0.1, "norm": norm},
        },
    ]


class Fake(Bench):
    """Writes captures instead of running anything."""

    runs: dict[str, list[list[dict[str, Any]]]]
    code = 0
    said = ""
    errors: ClassVar[dict[str, str]] = {}

    def _ran(self, name: str) -> Ran:
        log = self.work / f"{name}.log"
        log.write_text(self.errors.get(name, self.said))
        return Ran((), f"npuify {name}", self.code, 1.0, False, str(log))

    def capture(
        self, name: str, *, target: bool, words: Sequence[str], steps: int, samples: int = 1024
    ) -> tuple[Ran, Path]:
        folder = self.work / "captures" / name
        for rank, rows in enumerate(self.runs.get(name, [])):
            write(folder, rows, rank)
        return self._ran(name), folder

    def program(self, name: str, words: Sequence[str]) -> Ran:
        (self.target / "last.pt").write_bytes(b"x")
        return self._ran(name)


def bench(
    folder: Path, runs: dict[str, list[list[dict[str, Any]]]], *, said: str = "", code: int = 0, **plan: Any
) -> Fake:
    for name in ("reference", "target"):
        (folder / name).mkdir()
    words = {"entry": ("train.py",), "reference_entry": ("train.py",), "resume": (), "cards": (), **plan}
    made = Fake(Plan(**words), DEVICES, folder, folder / "reference", folder / "target", "cpu", True, 60, 20, 2)
    made.runs, made.said, made.code = runs, said, code
    return made


def curve(values: Sequence[float | str]) -> list[list[dict[str, Any]]]:
    return [[row for number, value in enumerate(values) for row in step(loss=value, number=number)]]


@pytest.mark.parametrize(
    ("rows", "forward", "backward", "said"),
    [
        (step(), Status.PASSED, Status.PASSED, "all results are finite"),
        (step(nan=3), Status.FAILED, Status.PASSED, "model.layer"),
        (step(gradient_nan=1), Status.PASSED, Status.FAILED, ""),
        (step(device="cpu"), Status.FAILED, Status.PASSED, "none on an NPU"),
        (step()[:2], Status.PASSED, Status.FAILED, ""),
        (step()[:1], Status.PASSED, Status.NOT_RUN, ""),
        ([], Status.FAILED, Status.NOT_RUN, "Before any module"),
    ],
)
def test_forward_and_backward(
    tmp_path: Path, rows: list[dict[str, Any]], forward: Status, backward: Status, said: str
) -> None:
    made = bench(tmp_path, {"target": [rows]})
    ran, folder = made.capture("target", target=True, words=(), steps=2)
    seen = captured.summarize(folder)
    one, two = captured.forward(made, ran, seen), captured.backward(made, ran, seen)
    assert (one.status, two.status) == (forward, backward)
    assert said in one.message


FALLING = [3 - 0.1 * number for number in range(20)]


@pytest.mark.parametrize(
    ("target", "reference", "status", "said"),
    [
        (FALLING, FALLING, Status.PASSED, "and falls"),
        (FALLING, [value * (1.05 if place > 3 else 1) for place, value in enumerate(FALLING)], Status.FAILED, "differ"),
        ([*FALLING[:10], "nan", *FALLING[11:]], FALLING, Status.FAILED, "not finite"),
        (FALLING[::-1], FALLING[::-1], Status.PASSED, "does not fall"),
        (FALLING[:2], FALLING[:2], Status.PASSED, "few steps"),
        (FALLING, FALLING[:5], Status.FAILED, "different-steps"),
    ],
)
def test_loss(tmp_path: Path, target: list[Any], reference: list[Any], status: Status, said: str) -> None:
    made = bench(tmp_path, {"loss-target": curve(target), "loss-reference": curve(reference)})
    result = long_runs.loss(made, has_loss=True)
    assert (result.status, result.where) == (status, Where.SIMULATION)
    assert said in result.message
    assert long_runs.loss(made, has_loss=False).status is Status.NOT_RUN


def test_a_reference_that_does_not_run_is_no_pass(tmp_path: Path) -> None:
    made = bench(tmp_path, {"loss-target": curve(FALLING)})
    result = long_runs.loss(made, has_loss=True)
    assert result.status is Status.NOT_RUN
    assert "--reference" in result.advice


@pytest.mark.parametrize(
    ("reference", "said", "alike", "told"),
    [
        ([], ("ValueError: no data in %s", "ValueError: no data in %s"), True, "in the same way on CPU"),
        ([], ("ValueError: no data", "KeyError: 'x'"), False, "On CPU the original ended with KeyError"),
        ([step(device="cpu")], ("ValueError: no data", ""), False, "The original runs on CPU"),
        ([], ("AssertionError: x", "AssertionError: Torch not compiled with CUDA enabled"), False, "{device}"),
    ],
)
def test_a_program_that_does_not_run_is_held_against_the_original(
    tmp_path: Path, reference: list[Any], said: tuple[str, str], alike: bool, told: str
) -> None:
    made = bench(tmp_path, {"target": [], "reference": reference}, code=1)
    made.short = True
    made.errors = {
        "target": said[0].replace("%s", str(tmp_path / "target")),
        "reference": said[1].replace("%s", str(tmp_path / "reference")),
    }
    _run(made, lambda _: None)
    compared = next(one for one in made.done if one.name == "compare")
    assert compared.status is Status.NOT_RUN and made.original_fails_too is alike
    assert told in compared.message + compared.advice


def test_iterations_tell_what_was_seen(tmp_path: Path) -> None:
    said = "npuify: torch_npu 2.13.0 has no NPU kernel for these operators\n         8 × aten::_linalg_eigvals\n"
    result, begun = long_runs.iterations(bench(tmp_path, {}, said=said))
    assert result.status is Status.PASSED
    assert begun <= time.time()
    assert any("aten::_linalg_eigvals (8 times)" in line for line in result.evidence)
    assert any("last.pt" in line for line in result.evidence)


def test_resume(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    made = bench(tmp_path, {"resume": curve([0.5])}, resume=("train.py", "--resume=last.pt"))
    assert long_runs.resume(made, 0.0, ran_to_end=True, fresh=3.0).status is Status.PASSED
    unused = long_runs.resume(made, 0.0, ran_to_end=True, fresh=0.5)
    assert unused.status is Status.FAILED
    assert "not used" in unused.message
    assert long_runs.resume(made, 0.0, ran_to_end=False, fresh=3.0).status is Status.NOT_RUN
    nothing = bench(
        tmp_path / "other",
        {},
        said="npuify: nothing was captured: the program called no torch.nn.Module",
        code=2,
        resume=("a.py",),
    )
    result = long_runs.resume(nothing, 0.0, ran_to_end=True, fresh=3.0)
    assert (result.status, "nothing left" in result.message) == (Status.NOT_RUN, True)


def test_resume_finds_the_option_and_gives_more_to_do(tmp_path: Path) -> None:
    nothing = "npuify: nothing was captured: the program called no torch.nn.Module"
    made = bench(tmp_path, {"resume-longer": curve([0.5])}, said=nothing, code=2, entry=("train.py", "--epochs=2"))
    (made.target / "train.py").write_text('parser.add_argument("--resume")')
    long_runs.iterations(made)
    result = long_runs.resume(made, 0.0, ran_to_end=True, fresh=3.0)
    assert result.status is Status.PASSED
    assert result.commands == ("npuify resume-longer",)


@pytest.mark.parametrize(
    ("fresh", "status", "said"),
    [
        (3.0, Status.PASSED, "resumes by itself"),
        (0.5, Status.NOT_RUN, "starts over, and it is unclear how"),
        (None, Status.NOT_RUN, "loss of a fresh start is unknown"),
    ],
)
def test_a_program_without_an_option_is_started_again(
    tmp_path: Path, fresh: float | None, status: Status, said: str
) -> None:
    """Many programs look for their checkpoint themselves."""
    nothing = "npuify: nothing was captured: the program called no torch.nn.Module"
    words = ("torchrun", "train.py", "--set", "train.steps=4")
    made = bench(tmp_path, {"resume-longer": curve([0.5])}, said=nothing, code=2, entry=words)
    (made.target / "train.py").write_text("state = torch.load('last.pt')")
    long_runs.iterations(made)
    result = long_runs.resume(made, 0.0, ran_to_end=True, fresh=fresh)
    assert (result.status, said in result.message) == (status, True), result.message


def test_a_project_that_is_a_package_is_found_where_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs in its subfolders import it, and may find the original, which is installed, for both sides."""
    monkeypatch.setenv("PYTHONPATH", "before")
    assert own_modules(tmp_path) == {}
    (tmp_path / "setup.py").write_text("")
    assert own_modules(tmp_path)["PYTHONPATH"].split(os.pathsep) == [str(tmp_path), "before"]
    (tmp_path / "src").mkdir()
    assert own_modules(tmp_path)["PYTHONPATH"].split(os.pathsep)[0] == str(tmp_path / "src")


def test_a_failure_says_where_to_look_first(tmp_path: Path) -> None:
    falling = [3.0, 2.5, 2.2, 2.0, 1.9, 1.8, 1.7, 1.6, 1.5, 1.4]
    made = bench(
        tmp_path,
        {"loss-target": curve([2 * one for one in falling]), "loss-reference": curve(falling), "cards": []},
        code=1,
        cards=("torchrun", "train.py"),
        cards_guessed=True,
    )
    assert "npuify verify capture and compare" in long_runs.loss(made, has_loss=True).advice
    made.done.append(StepResult("compare", "Compare", Status.FAILED, Where.SIMULATION, "no"))
    (made.work / "captures" / "loss-target").rename(made.work / "old")
    assert "check that comparison first" in long_runs.loss(made, has_loss=True).advice
    assert long_runs.cards(made).advice.startswith("If the program needs different arguments for several cards")


def test_a_program_gets_one_card_and_a_launcher_all(tmp_path: Path) -> None:
    """A program that takes every card that it finds would not see the reference's batches."""
    made = bench(tmp_path, {}, cards=("spawn.py",))
    assert made._count(("train.py", "--device=npu")) == made._count(("-m", "pack.train")) == 1
    assert made._count(("torchrun", "train.py")) == made._count(("spawn.py",)) == 8
    assert made._visible(("train.py",)).keys() == {"CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES"}
    assert made._visible(("torchrun", "train.py")) == {}


@pytest.mark.parametrize(
    ("ranks", "status", "said"),
    [
        ([step(), step()], Status.PASSED, "same parameters"),
        ([step(), step(norm=1.01)], Status.FAILED, "different values of w"),
        ([step()], Status.FAILED, "1 of 2 processes"),
        ([], Status.FAILED, "exited with code"),
    ],
)
def test_cards(tmp_path: Path, ranks: list[Any], status: Status, said: str) -> None:
    result = long_runs.cards(bench(tmp_path, {"cards": ranks}, cards=("torchrun", "train.py")))
    assert result.status is status
    assert said in result.message


def test_without_several_cards_nothing_is_claimed(tmp_path: Path) -> None:
    result = long_runs.cards(bench(tmp_path, {}, why_no_cards="it runs on one card only"))
    assert (result.status, result.where) == (Status.NOT_RUN, Where.NOWHERE)


def report(*steps: StepResult, simulated: bool = True) -> AcceptanceReport:
    verdict = _verdict(list(steps), simulated)
    return AcceptanceReport(1, "p", "train.py", "CPU", "simulated NPU", DEVICES, ("<b>",), steps, verdict)


def test_the_words_never_claim_more_than_happened() -> None:
    passed = StepResult("forward", "Forward <script>", Status.PASSED, Where.SIMULATION, "fine", ("seen <script>",))
    missing = StepResult("cards", "Cards", Status.NOT_RUN, Where.NOWHERE, "no")
    failed = StepResult("loss", "Loss", Status.FAILED, Where.SIMULATION, "bad")
    told = report(passed, missing)
    for text in (render_text(told), render_html(told), render_json(told)):
        assert "hardware" not in text
        assert "verified" not in text
    assert "in simulation" in told.verdict
    assert "not run: cards" in told.verdict
    assert "This says nothing about a real card" in told.verdict
    assert "did not run at all" in render_text(told)
    assert "<script>" not in render_html(told)
    assert report(passed, failed).verdict.startswith("Not accepted: loss failed")
    assert report(missing).verdict == "Nothing could be run."
    assert (worst(told), worst(report(failed, passed)), worst(report(missing))) == (
        Status.PASSED,
        Status.FAILED,
        Status.NOT_RUN,
    )


def test_copies_leave_the_project_as_it_is(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "train.py").write_text("x")
    (project / "gone").symlink_to("nowhere")
    copy(project, tmp_path / "copy")
    assert sorted(path.name for path in (tmp_path / "copy").iterdir()) == ["train.py"]
    copy(project / "train.py", tmp_path / "one")
    assert (tmp_path / "one" / "train.py").is_file()


def test_wrong_use(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("")
    for arguments, said in (
        ({"migrated": tmp_path / "missing"}, "no such"),
        ({"target": "gpu"}, "unknown target"),
        ({"reference": tmp_path}, "is not a capture"),
        ({"work": tmp_path / "full"}, "not empty"),
    ):
        with pytest.raises(NpuifyError, match=said):
            accept(tmp_path, **arguments)  # type: ignore[arg-type]
