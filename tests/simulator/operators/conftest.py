"""The operators of one release, installed so that CPU tensors can be given to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify.knowledge import load

if TYPE_CHECKING:
    from collections.abc import Iterator

RELEASE = "2.13.0"


@pytest.fixture(scope="session")
def installed() -> Iterator[frozenset[str]]:
    pytest.importorskip("torch")
    from npuify.simulator.operators.install import install, on_cpu

    simulated = install(load(RELEASE).custom_operators)
    with on_cpu():
        yield simulated


@pytest.fixture(autouse=True)
def _operators(installed: frozenset[str]) -> None:
    import torch

    torch.manual_seed(7)
