"""A fixed number of made-up programs: what CUDA prints, the simulated NPU prints after the migration, or a finding names the place.

Many more are run by hand: ``python -m tests.fuzz.judge --count 20000``.
"""

from __future__ import annotations

import importlib.util
import shutil

import pytest

from .judge import STYLES, run
from .programs import program

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
    ),
)
"""Programs that once did otherwise in silence."""


def test_no_program_differs_in_silence() -> None:
    account = run(SEEDS)
    silent = [f"{one.seed} {one.style}: {one.reason}\n{one.files['main.py']}" for one in account.silent]
    assert not silent, "\n\n".join(silent)
    assert account.rejected < len(SEEDS) / 2
    assert all(account.untouched[style] for style in STYLES)


def test_a_seed_is_one_program() -> None:
    assert program(7) == program(7) != program(8)
