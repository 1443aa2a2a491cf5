"""Logs that nobody tuned on: the numbers of their first run are in ``tests/data/diagnose/README.md``.

What is asserted here is only that it does not get worse.
"""

from __future__ import annotations

from collections import Counter

import pytest

from npuify.knowledge.failures.causes import causes, text_facts

from .samples import FOLDER, diagnosed, is_right, missed_at_first, right_at_first, samples, tomllib


def test_held_out_logs_are_diagnosed_no_worse_than_at_the_first_run() -> None:
    rows = samples("held_out")
    right = sum(diagnosed(row["lines"].strip("\n") + "\n").cause == row["cause"] for row in rows)
    assert len(rows) == 66 and right >= 61


def test_what_is_left_of_the_blind_sets_stays_right() -> None:
    rows = [*samples("blind"), *samples("blind_again"), *samples("blind_third"), *samples("blind_fourth")]
    wrong = [row["id"] for row in rows if diagnosed(row["lines"].strip("\n") + "\n").cause != row["cause"]]
    assert wrong == [
        "vllm-ascend-672",
        "vllm-ascend-8981",
        "hami-1696",
        "vllm-ascend-4972",
        "mindyolo-236",
        "paddlecustomdevice-1214",
    ]


ROUNDS = sorted(file.stem for file in FOLDER.glob("round_*.toml"))
STILL_WRONG = {
    "round_1": ["paddle-68865"],
    "round_7": ["cce-faq-00494-upgrade"],
    "round_15": ["verl-6931", "megatron-870", "deepseek-r1-588", "vllm-ascend-5684"],
    "round_16": ["mindyolo-441"],
    "round_17": ["ptoas-836"],
    "round_22": ["safecount-16"],
    "round_23": ["ascend-pytorch-100"],
    "round_24": ["factory-8953"],
    "round_26": ["sglang-8004"],
    "round_27": [
        "extension-cpp-6",
        "lmao-14",
        "casrel-22",
        "transformer-pytorch-1",
    ],
    "round_3": ["sglang-22840"],
    "round_14": ["vllm-ascend-3291"],
    "round_20": ["modelopt-oneflow-10342"],
    "round_28": ["unsloth-1297", "axolotl-529", "pysot-39"],
    "round_31": ["lynx-9"],
    "round_34": ["triplex", "unsloth-1175"],
    "round_35": ["transformers-31793"],
    "round_36": ["arjuna-21"],
    "round_33": ["gpt2-test"],
    "round_9": ["msprobe-faq-ei0006", "vllm-ascend-5695"],
}


@pytest.mark.parametrize("name", ROUNDS)
def test_what_a_round_taught_is_not_forgotten(name: str) -> None:
    rows = samples(name)
    wrong = [row["id"] for row in rows if not is_right(row, diagnosed(row["lines"].strip("\n") + "\n"))]
    assert wrong == STILL_WRONG.get(name, [])


def test_the_rounds_of_the_readme_are_those_of_the_files() -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    first, of = 0, 0
    for name in ROUNDS:
        right, rows = right_at_first(name), len(samples(name))
        assert f"| {name[6:]} | {right} | {rows} | {right / rows:.0%} |".replace("%", " %") in readme
        first, of = first + right, of + rows
    assert f"| all | {first} | {of} | {first / of:.0%} |".replace("%", " %") in readme


@pytest.mark.parametrize("name", [name for name in ROUNDS if int(name[6:]) >= 18])
def test_what_a_round_missed_at_first_is_named(name: str) -> None:
    missed, ids = missed_at_first(name), [row["id"] for row in samples(name)]
    assert missed is not None and set(missed) <= set(ids)
    assert right_at_first(name) == len(ids) - len(missed)
    assert {row["class"] for row in samples(name)} <= {
        "dependencies",
        "user",
        "python",
        "npu",
        "ranks",
        "system",
        "none",
    }


@pytest.mark.parametrize("name", [name for name in ROUNDS if int(name[6:]) >= 27])
def test_what_the_lines_cannot_tell_is_marked_and_counted(name: str) -> None:
    rows, missed = samples(name), set(missed_at_first(name) or ())
    told = [row for row in rows if row.get("decidable", True)]
    right = sum(row["id"] not in missed for row in told)
    assert all(row["decidable"] is False for row in rows if "decidable" in row)
    readme = " ".join((FOLDER / "README.md").read_text(encoding="utf-8").split())
    first = f"round {name[6:]}, {len(rows) - len(missed)} of {len(rows)}, of the decidable ones {right} of {len(told)}"
    assert first in readme


def test_what_a_round_taught_names_rows_that_are_there() -> None:
    taught = tomllib.loads((FOLDER / "left_out" / "taught.toml").read_text(encoding="utf-8"))["taught"]
    names = {row.name for row in text_facts()}
    assert [one["round"] for one in taught] == list(range(1, 27))
    assert {name for one in taught for name in one["rows"]} <= names


def test_what_is_missed_is_seldom_called_clear() -> None:
    """A wrong answer has to say that it is one of several."""
    wrong = [
        found.confidence.value
        for row in (
            *samples("held_out"),
            *samples("blind"),
            *samples("blind_again"),
            *samples("blind_third"),
            *samples("blind_fourth"),
        )
        if (found := diagnosed(row["lines"].strip("\n") + "\n")).cause != row["cause"]
    ]
    assert Counter(wrong)["clear"] == 0


def test_every_sample_has_its_thread_and_a_label() -> None:
    unseen = [
        *samples("held_out"),
        *samples("blind"),
        *samples("blind_again"),
        *samples("blind_third"),
        *samples("blind_fourth"),
        *(row for name in ROUNDS for row in samples(name)),
    ]
    rows = [*unseen, *samples("tuned")]
    known = set(causes()) | {"allocator-setting", "device-shared", "none"}
    assert len(rows) >= 170
    for row in rows:
        assert row["source"].startswith("https://")
        assert row["cause"] in known, row["cause"]
    tuned = {part for row in samples("tuned") for part in row["source"].split(" ; ")}
    assert not tuned & {row["source"] for row in unseen}
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    for name in ("tuned", "held_out", "blind", "blind_again", "blind_third", "blind_fourth", *ROUNDS):
        assert f"| `{name}.toml` | {len(samples(name))} |" in readme
