"""Verdicts on pairs of curves whose difference is known, and pairs that are refused."""

from __future__ import annotations

import json
import math
import random
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from npuify.model import NpuifyError
from npuify.verify.loss.judge import judge
from npuify.verify.loss.measure import moving_average, relative_errors, spikes
from npuify.verify.loss.model import Curve, Refusal, Verdict
from npuify.verify.loss.page import render_html
from npuify.verify.loss.refuse import comparable
from npuify.verify.loss.run import compare_losses
from npuify.verify.loss.text import render_json, render_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.core


def curve(values: list[float], *, start: int = 1, every: int = 1, metric: str = "loss") -> Curve:
    return Curve("run.log", "log", metric, tuple(range(start, start + every * len(values), every)), tuple(values))


def falling(count: int, seed: int = 0, noise: float = 0.05) -> list[float]:
    draw = random.Random(seed)
    return [0.5 + 3 * math.exp(-step / 60) * (1 + draw.uniform(-noise, noise)) for step in range(count)]


def changed(values: list[float], change: Callable[[int, float], float]) -> list[float]:
    return [change(step, value) for step, value in enumerate(values)]


def test_a_long_run_that_agrees_but_for_nan_is_not_said_to_differ() -> None:
    values = [3.0 / (step + 1) for step in range(40)]
    report = judge(curve(values), curve([*values[:20], *[math.nan] * 20]))
    assert report.verdict is Verdict.DIFFERENT
    assert "not finite from step" in report.said[0]
    assert not any("long run" in one or "change sign" in one for one in report.said), report.said


def test_rounding_is_no_difference() -> None:
    draw = random.Random(1)
    one = falling(300)
    two = changed(one, lambda step, value: value * (1 + draw.uniform(-1, 1) * min(1e-6 * 1.03**step, 4e-3)))
    report = judge(curve(one), curve(two))
    assert report.verdict is Verdict.ALIGNED
    assert report.first.max_error < 1e-5
    assert report.diverges_at is None


def test_the_mean_of_the_long_run_is_held_against_one_percent() -> None:
    one = falling(200)
    close = judge(curve(one), curve(changed(one, lambda step, value: value * (1.009 if step > 10 else 1))))
    assert close.verdict is Verdict.ALIGNED
    far = judge(curve(one), curve(changed(one, lambda step, value: value * (1.012 if step > 10 else 1))))
    assert far.verdict is Verdict.DIFFERENT
    assert far.long_run is not None
    assert far.long_run.mean_error == pytest.approx(0.012, rel=0.05)
    assert far.long_run.bias > 0
    assert any("above the reference's almost always" in line for line in far.said)


def test_a_first_step_that_differs_points_at_weights_data_or_forward() -> None:
    one = falling(100)
    report = judge(curve(one), curve(changed(one, lambda step, value: value + 0.2)))
    assert report.verdict is Verdict.DIFFERENT
    assert not report.first.aligned
    assert "very first step" in report.advice[0]


def test_a_second_step_that_differs_points_at_backward_and_update() -> None:
    one = falling(100)
    report = judge(curve(one), curve(changed(one, lambda step, value: value if step == 0 else value * 1.1)))
    assert "backward pass" in report.advice[0]
    assert "step 2" in report.advice[0]


def test_where_curves_part() -> None:
    one = falling(400, noise=0.002)
    report = judge(curve(one), curve(changed(one, lambda step, value: value * (1 + max(0, step - 200) * 1e-3))))
    assert report.verdict is Verdict.DIFFERENT
    assert report.diverges_at is not None
    assert 205 <= report.diverges_at <= 235


def test_noise_alone_is_uncertain() -> None:
    draw = random.Random(2)
    one = falling(600, noise=0)
    two = changed(one, lambda step, value: value * (1 + (draw.uniform(-0.03, 0.03) if step >= 10 else 0)))
    report = judge(curve(one), curve(two))
    assert report.verdict is Verdict.UNCERTAIN
    assert report.smoothed_error < 0.01


def test_more_than_rounding_is_said_though_within_the_tolerance() -> None:
    one = falling(100)
    report = judge(curve(one), curve(changed(one, lambda step, value: value * 1.005)))
    assert report.verdict is Verdict.ALIGNED
    assert any("exceeds float32 rounding" in line for line in report.said)
    close = judge(curve(one), curve(changed(one, lambda step, value: value * 1.0001)))
    assert not any("rounding" in line for line in close.said)


def test_not_a_number() -> None:
    one = falling(50)
    broken = changed(one, lambda step, value: math.nan if step >= 30 else value)
    report = judge(curve(one), curve(broken))
    assert report.verdict is Verdict.DIFFERENT
    assert report.not_finite_target == 31
    assert "not finite from step 31" in report.said[0]
    both = judge(curve(broken), curve(broken))
    assert both.verdict is Verdict.UNCERTAIN
    turned = judge(curve(broken), curve(one))
    assert "reference's own loss" in turned.said[0]
    for report in (both, turned):
        json.loads(render_json(report))
        assert "<svg" in render_html(report)


def test_spikes() -> None:
    values = changed(falling(200), lambda step, value: value * 5 if step == 120 else value)
    assert [spike.step for spike in spikes(tuple(range(200)), values)] == [120]
    assert spikes(tuple(range(200)), falling(200)) == ()
    report = judge(curve(falling(200)), curve(values))
    assert [spike.step for spike in report.spikes_target] == [121]
    assert any("Spikes only in the target" in line for line in report.said)


def test_a_loss_of_zero_does_not_make_errors_endless() -> None:
    errors = relative_errors([1.0, 0.0, 1.0], [1.0, 1e-6, 1.0])
    assert errors[1] == pytest.approx(1e-3)
    assert relative_errors([math.inf, 2.0], [math.inf, 1.0]) == [0.0, -0.5]


def test_moving_average_looks_back_only() -> None:
    assert moving_average([1.0, 3.0, 5.0, 7.0], 2) == [1.0, 2.0, 4.0, 6.0]


@pytest.mark.parametrize(
    ("name", "one", "two"),
    [
        ("too-short", curve([1.0, 0.9]), curve([1.0, 0.9])),
        ("step-offset", curve([3.0, 2.0, 1.0], start=0), curve([3.0, 2.0, 1.0], start=1)),
        ("different-steps", curve([3.0, 2.0, 1.0, 0.9]), curve([3.0, 2.0, 1.0])),
        ("different-steps", curve([3.0, 2.0, 1.0, 0.5], every=10), curve([3.0, 2.0, 1.0, 0.5], every=50)),
        ("different-metric", curve([3.0, 2.0, 1.0], metric="train/loss"), curve([3.0, 2.0, 1.0], metric="eval/loss")),
        ("constant", curve([3.0, 2.0, 1.0, 0.5]), curve([0.0, 0.0, 0.0, 0.0])),
    ],
)
def test_refusals(name: str, one: Curve, two: Curve) -> None:
    with pytest.raises(Refusal) as caught:
        comparable(one, two)
    assert caught.value.name == name
    assert f"({name})" in str(caught.value)


def test_refusals_can_be_answered() -> None:
    one, two = curve([4.0, 3.0, 2.0, 1.0], start=0), curve([4.0, 3.0, 2.0, 1.0], start=1)
    assert comparable(one, two, offset=-1)[1].steps == one.steps
    cut, _ = comparable(one, two, common=True)
    assert cut.steps == (1, 2, 3)
    assert "ignored" in cut.notes[0]
    with pytest.raises(Refusal, match="only 1 point"):
        comparable(curve([1.0, 2.0, 3.0]), curve([1.0, 2.0, 3.0], start=3), common=True)


def test_files(tmp_path: Path) -> None:
    one, two = tmp_path / "a.csv", tmp_path / "b.csv"
    one.write_text("step,loss\n" + "".join(f"{step},{4 - step}\n" for step in range(4)))
    with pytest.raises(Refusal, match="same-file"):
        compare_losses(one, tmp_path / "." / "a.csv")
    two.write_bytes(one.read_bytes())
    with pytest.raises(Refusal, match="same-content"):
        compare_losses(one, two)
    report = compare_losses(one, two, allow_identical=True)
    assert report.identical
    assert report.verdict is Verdict.ALIGNED
    for wrong in ({"tolerance": 0.0}, {"tolerance": 1.5}, {"first": 0}):
        with pytest.raises(NpuifyError):
            compare_losses(one, two, allow_identical=True, **wrong)  # type: ignore[arg-type]


def test_reports(tmp_path: Path) -> None:
    name = "<script>alert(1)</script>"
    one = Curve(name, "log", name, tuple(range(2000)), tuple(falling(2000)), notes=(name,))
    two = Curve("b", "log", "loss", one.steps, tuple(changed(list(one.values), lambda step, value: value * 1.05)))
    report = judge(one, two)
    page = render_html(report)
    assert "<script" not in page
    assert "http" not in re.sub(r"http-equiv", "", page)
    figures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(figures) == 3
    for figure in figures:
        ElementTree.fromstring(figure)
    assert len(page) < 150_000, "lines of long curves are thinned"
    text = render_text(report)
    assert text.startswith("The loss curves differ.")
    assert "5 %" in text
    assert json.loads(render_json(report))["verdict"] == "different"
