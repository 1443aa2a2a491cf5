"""What the trial of public programs calls a failure."""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Any

import pytest
from tools.many_cards.trial import Result, Trial, compare

pytest.importorskip("torch")

ROOT = Path(__file__).parents[2]


def log(said: str = "", losses: tuple[float, ...] = (1.0, 0.5), part: int = 0, parts: int = 1) -> dict[str, Any]:
    samples = [index for index in range(64) if index % parts == part] * 2
    return {
        "parameters": ["a", "b"],
        "last": {"3": [1.0, 2.0, 3.0]},
        "losses": list(losses),
        "samples": {"64": samples},
        "said": said,
        "failed": "",
    }


def problems(tmp_path: Path, original: dict[str, Any], ranks: list[dict[str, Any]], **program: Any) -> list[str]:
    trial = Trial({"name": "x", "project": "x", "entry": "x.py", "epochs": 2, **program}, tmp_path, tmp_path)
    for name in ("before", f"on{len(ranks)}"):
        trial.folder(name).mkdir(exist_ok=True)
    result = Result("x", len(ranks), "torchrun")
    compare(trial, result, original, ranks)
    return result.problems


@pytest.fixture
def original() -> dict[str, Any]:
    return log("loss 0.5\n")


@pytest.fixture
def ranks() -> list[dict[str, Any]]:
    return [log("loss 0.5\n", (1.5, 0.25), 0, 2), log("", (0.5, 0.75), 1, 2)]


def test_nothing_is_wrong_with_runs_that_agree(
    tmp_path: Path, original: dict[str, Any], ranks: list[dict[str, Any]]
) -> None:
    assert problems(tmp_path, original, ranks) == []


def faults(original: dict[str, Any], ranks: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    def but(rank: int, **values: Any) -> list[dict[str, Any]]:
        changed = copy.deepcopy(ranks)
        changed[rank].update(values)
        return changed

    return {
        "rank 1 has other parameters": but(1, parameters=["a", "c"]),
        "the losses differ": but(1, losses=[0.5, 0.7504]),
        "steps": but(0, losses=[1.5]),
        "samples": but(1, samples={"64": list(range(0, 64, 2)) * 2}),
        "is 'loss 0.6'": but(0, said="loss 0.6\n"),
        "rank 1 prints": but(1, said="loss 0.5\n"),
        "no step": [dict(one, parameters=[]) for one in ranks],
        "parameters differ": but(0, last={"3": [1.0, 2.1, 3.0]}),
    }


@pytest.mark.parametrize("what", faults({}, [{}, {}]))
def test_each_fault_is_seen(tmp_path: Path, original: dict[str, Any], ranks: list[dict[str, Any]], what: str) -> None:
    found = problems(tmp_path, original, faults(original, ranks)[what])
    assert any(what in problem for problem in found), found


def test_a_file_that_is_missing_or_another_is_seen(
    tmp_path: Path, original: dict[str, Any], ranks: list[dict[str, Any]]
) -> None:
    import torch

    for folder, value in (("before", 1.0), ("on2", 2.0)):
        (tmp_path / folder).mkdir()
        torch.save({"weight": torch.full((2,), value)}, tmp_path / folder / "model.pt")
    assert any("is another one" in problem for problem in problems(tmp_path, original, ranks))
    (tmp_path / "on2" / "model.pt").unlink()
    assert any("files written" in problem for problem in problems(tmp_path, original, ranks))


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib")
def test_the_list_of_programs_is_sound() -> None:
    import tomllib

    known = set(
        "name project entry arguments shorten data epochs samples noise options own by_hand runs folders path".split()
    )
    programs = tomllib.loads((ROOT / "tools" / "many_cards" / "programs.toml").read_text())["program"]
    assert len({program["name"] for program in programs}) == len(programs) >= 8
    for program in programs:
        assert program.keys() <= known, program["name"]
        if program.get("own"):
            assert (ROOT / program["project"] / program["entry"]).is_file()
