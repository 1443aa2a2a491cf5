"""Planted faults are found and named at their place, and pairs that differ in rounding only are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tools.verify_faults.judging import found_rightly, named
from tools.verify_faults.running import PROGRAMS
from tools.verify_faults.table import FAULTS, SOUND, Fault, Sound

from npuify.verify.capture.settings import Settings
from npuify.verify.comparison.compare import compare

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from npuify.verify.comparison.result import Comparison


@pytest.fixture(scope="module")
def operators(
    tmp_path_factory: pytest.TempPathFactory, captures: Mapping[str, Path], capture_all: Callable[..., dict[str, Path]]
) -> dict[str, Path]:
    """Some faults once more, with operators; ``captures`` skips where programs cannot be run so."""
    program = str(PROGRAMS / "gpt.py")
    wanted = {fault: [program, "--fault", fault, "--steps", "1"] for fault in _AT_OPERATORS}
    settings = Settings(steps=1, level="operator")
    return capture_all({"": [program, "--steps", "1"], **wanted}, tmp_path_factory.mktemp("operators"), settings)


_AT_OPERATORS = ("attention scale", "causal top-left", "epsilon lost", "wrong backward")


def held(a: Path, b: Path) -> Comparison:
    return compare(a, b, allow=["same-device"])


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.program}-{fault.name}")
def test_a_fault_is_the_first_difference(captures: Mapping[str, Path], fault: Fault) -> None:
    result = held(captures[f"{fault.program}: "], captures[f"{fault.program}: {fault.name}"])
    assert found_rightly(result, fault), named(result)


@pytest.mark.thorough
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.program}-{fault.name}")
def test_a_fault_of_the_original_is_found_too(captures: Mapping[str, Path], fault: Fault) -> None:
    result = held(captures[f"{fault.program}: {fault.name}"], captures[f"{fault.program}: "])
    assert result.first is not None
    assert result.first.name == fault.module, named(result)


@pytest.mark.parametrize("sound", SOUND, ids=lambda sound: f"{sound.program}-{sound.way}-{sound.against}")
def test_rounding_raises_no_alarm(captures: Mapping[str, Path], sound: Sound) -> None:
    against = sound.against if sound.way else "again"
    result = held(captures[f"{sound.program}: {against}"], captures[f"{sound.program}: {sound.way}"])
    assert result.agrees, named(result)
    assert result.matched > 20


def test_an_agreement_says_how_small_a_fault_it_would_have_seen(captures: Mapping[str, Path]) -> None:
    result = held(captures["gpt: "], captures["gpt: autocast to bfloat16"])
    assert any("Capture in float32 to see more" in remark for remark in result.remarks)


@pytest.mark.parametrize(
    ("fault", "name", "place"),
    [
        ("attention scale", "GPT.blocks.0.attention/mul", "gpt.py:"),
        ("causal top-left", "GPT.blocks.0.attention/tril", "gpt.py:"),
        ("epsilon lost", "GPT.blocks.0.norm1/add", "gpt.py:"),
        ("wrong backward", "GPT.blocks.2.feed", ""),
    ],
)
def test_operators_name_the_line(operators: dict[str, Path], fault: str, name: str, place: str) -> None:
    first = held(operators[""], operators[fault]).first
    assert first is not None
    assert first.name == name
    assert first.place.startswith(place)


def test_amplification_is_told_from_the_cause(captures: Mapping[str, Path]) -> None:
    result = held(captures["gpt: "], captures["gpt: attention scale"])
    wrong = {point.name for point in result.points if point.direction == "forward" and point.error > point.limit}
    blamed = {one.name for one in result.differences if one.severity == "error"}
    assert len(wrong) > 20, "the fault is carried through the whole model"
    assert blamed == {"GPT.blocks.0.attention"}
