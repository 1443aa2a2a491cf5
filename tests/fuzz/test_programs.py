"""A fixed number of made-up programs: what CUDA prints, the simulated NPU prints after the migration, or a finding names the place.

Many more are run by hand: ``python -m tests.fuzz.judge --count 20000``.
"""

from __future__ import annotations

import importlib.util
import shutil
from typing import TYPE_CHECKING

import pytest

from .judge import STYLES, Account, Machines, run
from .programs import program

if TYPE_CHECKING:
    from .judge import _Case

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"),
    pytest.mark.skipif(not any(map(shutil.which, ("g++", "clang++", "c++"))), reason="no C++ compiler"),
]
SEEDS = (
    *(110008, 110032, 110051, 110053, 110065, 110103, 110153, 110214),
    *(120235, 120276, 200513, 200670, 201160, 202320, 204498, 206577, 210112),
    *(
        500001,
        500007,
        500014,
        500016,
        500020,
        500040,
        500041,
        500042,
        500046,
        500070,
        500076,
        500085,
        500186,
        510010,
        401156,
        600179,
        600253,
        600292,
        600295,
        600712,
        601541,
        602460,
        701784,
        702122,
        800006,
        800011,
        800036,
        800054,
        800067,
        800112,
        800146,
        720714,
        970984,
        800319,
        800347,
        800381,
        800392,
        800462,
        800768,
        800776,
        2000161,
        2001552,
        950013,
        950016,
        960002,
        960195,
        960789,
        960922,
        961103,
        3200322,
        3400908,
        3401441,
        3401900,
        3402384,
        3402966,
        3404517,
        3408196,
        3408362,
        3409219,
        3409769,
        3405152,
    ),
)
"""Programs that once did otherwise in silence."""


PLANTED = (950033, 950004)
"""Programs that say something more after the migration as one test has it."""


def test_no_program_differs_in_silence() -> None:
    account = run(SEEDS)
    silent = [f"{one.seed} {one.style}: {one.reason}\n{one.files['main.py']}" for one in account.silent]
    assert not silent, "\n\n".join(silent)
    assert account.rejected < len(SEEDS) / 2
    assert all(account.untouched[style] for style in STYLES)


def test_a_seed_is_one_program() -> None:
    assert program(7) == program(7) != program(8)


IN_SEVERAL_WAYS = (*range(950000, 950005), 950033, 950057, 950063, 950068, 950013, 950044, 702635)
"""Programs that do as before, that differ, that are none; several make a group of processes, or change torch for the process."""


def test_the_fast_way_judges_as_the_slow_one(monkeypatch: pytest.MonkeyPatch) -> None:
    migrated = Machines._migrated

    def planted(self: Machines, seed: int, files: dict[str, str], style: str) -> _Case:
        """Some say something more afterwards, and nothing tells of it."""
        case = migrated(self, seed, files, style)
        if seed not in PLANTED:
            return case
        text = f"{case.texts['main.py']}print('more')\n"
        (case.folder / "main.py").write_text(text, "utf-8")
        return case._replace(texts={**case.texts, "main.py": text}, left=[])

    monkeypatch.setattr(Machines, "_migrated", planted)
    fast, slow = run(IN_SEVERAL_WAYS), run(IN_SEVERAL_WAYS, slowly=True)
    assert _said(fast) == _said(slow)
    assert {(one.seed, one.style) for one in fast.silent} >= {(seed, style) for seed in PLANTED for style in STYLES}
    assert fast.programs > len(IN_SEVERAL_WAYS) / 2
    assert {one.told for one in fast.differences} == {True, False}


def _said(account: Account) -> object:
    differences = {(one.seed, one.style, one.told, one.reason, one.by, one.away) for one in account.differences}
    return account.programs, account.rejected, account.untouched, differences
