"""Names that are gone from torch: the table, held against the torch that is installed."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import subprocess
import sys
import warnings

import pytest

from npuify.knowledge.pytorch.removed import numbers, removed_name, removed_names
from tests.harness import codes

RAISE = {
    *("torch.eig", "torch.lstsq", "torch.matrix_rank", "torch.solve", "torch.symeig"),
    *(f"torch.Tensor.{name}" for name in ("eig", "lstsq", "solve", "symeig")),
    *(f"torch.jit.quantized.quantize_{kind}_modules" for kind in ("linear", "rnn", "rnn_cell")),
}
"""Functions that are there to say what to use instead."""


def still_there() -> list[str]:
    """Names that the table says to be gone from the torch that is installed, and that it has."""
    import torch

    warnings.simplefilter("ignore")
    found = []
    for name, gone in removed_names().items():
        bare, _, parameter = name.rstrip(")").partition("(")
        if name in RAISE or not gone.is_gone_from(torch.__version__):
            continue
        value = _look(bare)
        if value is None or (name.endswith("()") and inspect.ismodule(value)):
            continue
        if parameter:
            try:
                signature = inspect.signature(value)  # type: ignore[arg-type]
            except (TypeError, ValueError):
                continue
            if parameter not in signature.parameters:
                continue
        found.append(name)
    return found


def _look(name: str) -> object | None:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            value: object = importlib.import_module(".".join(parts[:length]))
        except Exception:
            continue
        for part in parts[length:]:
            value = getattr(value, part, None)
            if value is None:
                return None
        return value
    return None


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_what_is_said_to_be_gone_is_not_there() -> None:
    done = subprocess.run([sys.executable, "-m", __name__], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr


@pytest.mark.parametrize(
    ("name", "torch", "gone"),
    [
        ("torch._six.inf", "1.13.1", False),
        ("torch._six.inf", "2.1.0", True),
        ("torch.cholesky", "2.13.0", False),
        ("torch.cholesky", "2.14.0", True),
        ("torch.lstsq", "2.1.0", True),
        ("torch.linalg.lstsq", "2.14.0", False),
        ("torch.utils.data.dataloader._DataLoaderIter", "2.1.0", True),
        ("torch.cuda.amp", "2.14.0", False),
    ],
)
def test_a_name_is_gone_from_the_release_that_lacks_it(name: str, torch: str, gone: bool) -> None:
    assert (removed_name(name, torch) is not None) is gone


def test_every_replacement_stands_for_a_name_that_is_gone() -> None:
    for name, gone in removed_names().items():
        row = gone.replacement
        assert row is None or numbers(gone.first) >= (1, 0), name
        if row is not None and row.becomes:
            assert removed_name(row.becomes, "2.14.0") is None, name


def test_a_project_whose_torch_has_the_name_is_not_told() -> None:
    program = "import torch\nchol = torch.cholesky(torch.eye(2))\n"
    assert "NPU660" in codes(program, release="2.14.0")
    assert "NPU660" not in codes(program, release="2.13.0")


if __name__ == "__main__":
    print("\n".join(still_there()))
