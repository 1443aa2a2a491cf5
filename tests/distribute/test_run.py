"""Converted programs train on two and four simulated NPUs as they do on one."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import npuify
from npuify.distribute.convert import ConversionOptions, distribute
from npuify.options import Options
from npuify.simulator.settings import Settings
from tests.warm import Program

if TYPE_CHECKING:
    from tests.warm import Warm

pytestmark = pytest.mark.slow
PROGRAMS = Path(__file__).parents[1] / "data" / "distribute"
ROOT = Path(__file__).parents[2]
EXAMPLE = "image_classification"
ARGUMENTS = (
    "--epochs 2 --batch-size 16 --train-size 64 --val-size 20 --workers 0 --image-size 8 --width 4 --no-amp"
).split()
NAMES = ("classifier", "adversaries", "regression", "committee", EXAMPLE)
SIMULATED = Settings(cpu_random=True, policy="off").environment()
OPTIONS = Options(unsafe=True, jobs=1, cache=False)
Logs = dict[str, list[dict[str, Any]]]


def run(folder: Path, programs: list[Path], cards: int, on_npus: Warm) -> Logs:
    """What each program did, by its folder's name, on each rank; as without torchrun on one card."""
    logs = folder / "logs"
    logs.mkdir()
    jobs = [
        {
            "program": str(program),
            "arguments": ARGUMENTS if program.name == "train.py" else [],
            "log": str(logs / program.parent.name),
            "seeded": False,
            "replay": str(logs / f"{EXAMPLE}.0.json") if program.parent.name == "example" else "",
        }
        for program in programs
    ]
    (folder / "jobs.json").write_text(json.dumps(jobs))
    driver = Program([str(ROOT / "tools" / "many_cards" / "driver.py"), str(folder / "jobs.json")], folder, SIMULATED)
    for done in on_npus.ranks(cards, driver) if cards > 1 else on_npus.run(driver):
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return {
        program.parent.name: [
            json.loads((logs / f"{program.parent.name}.{rank}.json").read_text()) for rank in range(cards)
        ]
        for program in programs
    }


def converted(folder: Path) -> list[Path]:
    for name in NAMES[:-1]:
        conversion = ConversionOptions(entry=f"{name}.py", keep_global_batch=True)
        distribute(PROGRAMS / f"{name}.py", folder / name, conversion, OPTIONS)
    conversion = ConversionOptions(entry="train.py", keep_global_batch=True, sync_batchnorm=True)
    distribute(ROOT / "examples" / EXAMPLE, folder / EXAMPLE, conversion, OPTIONS)
    return [*(folder / name / f"{name}.py" for name in NAMES[:-1]), folder / EXAMPLE / "train.py"]


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory, on_npus: Warm) -> tuple[Logs, Path]:
    """What the converted programs do in one process, and two that were only migrated (``original``, ``example``)."""
    folder = tmp_path_factory.mktemp("one")
    npuify.migrate(PROGRAMS / "regression.py", folder / "original", OPTIONS)
    npuify.migrate(ROOT / "examples" / EXAMPLE, folder / "example", OPTIONS)
    programs = [*converted(folder), folder / "original" / "regression.py", folder / "example" / "train.py"]
    return run(folder, programs, 1, on_npus), folder


@pytest.fixture(scope="module", params=[2, pytest.param(4, marks=pytest.mark.thorough)])
def many(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, on_npus: Warm) -> tuple[Logs, Path]:
    """What the converted programs do on several cards, and where."""
    folder = tmp_path_factory.mktemp(f"many{request.param}")
    return run(folder, converted(folder), request.param, on_npus), folder


def curve(ranks: list[dict[str, Any]]) -> list[float]:
    return [sum(losses) / len(losses) for losses in zip(*(rank["losses"] for rank in ranks), strict=True)]


def test_all_ranks_have_the_same_parameters_after_each_step(many: tuple[Logs, Path]) -> None:
    for name, ranks in many[0].items():
        assert len(ranks[0]["parameters"]) >= 8, name
        for other in ranks[1:]:
            assert other["parameters"] == ranks[0]["parameters"], name


def test_the_loss_curve_is_that_of_one_card(one: tuple[Logs, Path], many: tuple[Logs, Path]) -> None:
    for name in ("classifier", "adversaries"):
        assert curve(many[0][name]) == pytest.approx(one[0][name][0]["losses"], abs=1e-4), name
    # A sum over the batch is multiplied by the number of cards, since gradients are averaged.
    assert curve(many[0]["regression"]) == pytest.approx(one[0]["original"][0]["losses"], rel=1e-4)
    assert curve(many[0][EXAMPLE]) == pytest.approx(one[0]["example"][0]["losses"], abs=1e-4)
    for name, before in (*((name, name) for name in ("classifier", "adversaries", "regression")), (EXAMPLE, "example")):
        last = one[0][before][0]["last"]
        assert last, name
        for size, values in many[0][name][0]["last"].items():
            assert values == pytest.approx(last[size], abs=1e-3), name


def test_every_sample_is_seen_once_an_epoch(many: tuple[Logs, Path]) -> None:
    for name, size, times in (
        ("classifier", 64, 2),
        ("classifier", 23, 3),
        ("adversaries", 32, 2),
        ("regression", 48, 2),
        (EXAMPLE, 64, 2),
        (EXAMPLE, 20, 2),
    ):
        seen = Counter(index for rank in many[0][name] for index in rank["samples"].get(str(size), ()))
        assert seen == dict.fromkeys(range(size), times), name


def test_what_is_chosen_by_chance_without_a_seed_is_the_same_for_all(many: tuple[Logs, Path]) -> None:
    seen = Counter(index for rank in many[0]["committee"] for index in rank["samples"]["40"])
    assert len(seen) == 32
    assert set(seen.values()) == {2}


def test_numbers_that_are_shown_while_training_are_those_of_all(many: tuple[Logs, Path]) -> None:
    lines = [line for line in many[0]["committee"][0]["said"].splitlines() if line.startswith("round")]
    assert [line.rpartition(" of ")[2] for line in lines] == ["8", "16", "24", "32"] * 2
    assert [line.split("[")[1].split("/")[0] for line in lines] == ["0", "8", "16", "24"] * 2


def test_samples_come_in_another_order_in_the_next_epoch(many: tuple[Logs, Path]) -> None:
    for name, size in (("classifier", 64), ("adversaries", 32)):
        samples = many[0][name][0]["samples"][str(size)]
        half = len(samples) // 2
        assert samples[:half] != samples[half:] != sorted(samples[half:])


def test_the_evaluation_is_that_of_one_card(one: tuple[Logs, Path], many: tuple[Logs, Path]) -> None:
    def numbers(logs: Logs, name: str) -> list[float]:
        words = logs[name][0]["said"].replace(":", " ").replace(",", " ").replace("[", " ").replace("]", " ").split()
        return [float(word) for word in words if word.replace(".", "").replace("-", "").isdigit()]

    assert "validation" in many[0]["classifier"][0]["said"]
    for name in ("classifier", "regression"):
        assert numbers(many[0], name) == pytest.approx(numbers(one[0], name), rel=1e-4), name
    assert many[0][EXAMPLE][0]["said"] == one[0]["example"][0]["said"] != ""
    assert numbers(many[0], "regression") == pytest.approx(numbers(one[0], "original"), rel=1e-4)


def test_rank_0_alone_speaks_and_writes(many: tuple[Logs, Path]) -> None:
    logs, folder = many
    for name in NAMES:
        assert [bool(rank["said"]) for rank in logs[name]] == [True, *[False] * (len(logs[name]) - 1)], name
    written = {path.relative_to(folder).as_posix() for path in folder.rglob("*.pt")}
    assert written == {
        "classifier/classifier.pt",
        "adversaries/adversaries/generator.pt",
        "regression/regression.pt",
        "committee/member0.pt",
        "committee/member1.pt",
        f"{EXAMPLE}/runs/cuda_baseline/best.pt",
    }
    assert len((folder / "adversaries" / "adversaries" / "log.jsonl").read_text().splitlines()) == 2


def test_a_checkpoint_loads_on_one_card(one: tuple[Logs, Path], many: tuple[Logs, Path]) -> None:
    torch = pytest.importorskip("torch")
    alone, together = (
        torch.load(folder / "classifier" / "classifier.pt", map_location="cpu")["model"] for folder in (one[1], many[1])
    )
    assert list(together) == list(alone) == ["first.weight", "first.bias", "last.weight", "last.bias"]
    assert all(torch.allclose(together[name], alone[name], atol=1e-4) for name in alone)
