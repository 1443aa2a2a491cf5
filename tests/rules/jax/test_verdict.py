"""JAX, Flax and what is written for TPUs: the verdict is an honest one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify.engine.scan import scan
from npuify.model import Severity
from npuify.options import Options
from npuify.report.verdicts.verdict import Level, judge

if TYPE_CHECKING:
    from pathlib import Path

MODEL = """\
import jax
import jax.numpy as jnp
import flax.linen as nn


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(2)(x)


@jax.jit
def step(p, x):
    return jax.grad(lambda q: Net().apply(q, x).sum())(p)


if __name__ == "__main__":
    step(None, jnp.ones(2))
"""
TORCH = "import torch\n\nif __name__ == '__main__':\n    print(torch.zeros(1).cuda())\n"


def test_a_program_on_jax_is_blocked_also_beside_pytorch(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    alone = judge(scan([tmp_path], Options(cache=False)))
    assert alone.level is Level.BLOCKED
    assert [one.what for one in alone.blockers] == ["jax (NPU960 jax-program)"]
    (tmp_path / "other.py").write_text(TORCH)
    verdict = judge(scan([tmp_path], Options(cache=False)))
    levels = {one.file: one.level for one in verdict.programs}
    assert levels["model.py"] is Level.BLOCKED
    assert levels["other.py"] is Level.RUNS


@pytest.mark.parametrize(
    ("text", "severity", "level"),
    [
        (
            "import torch\nimport torch_xla.core.xla_model as xm\nx = torch.ones(2).to(xm.xla_device())\n",
            Severity.ERROR,
            Level.BLOCKED,
        ),
        (
            "import torch\ntry:\n    import torch_xla\nexcept ImportError:\n    torch_xla = None\nx = torch.ones(2)\n",
            Severity.INFO,
            Level.RUNS,
        ),
    ],
)
def test_programs_for_tpus_by_pytorch_xla(text: str, severity: Severity, level: Level, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(text)
    result = scan([tmp_path], Options(cache=False))
    assert [(one.code, one.severity) for one in result.findings] == [("NPU620", severity)]
    assert judge(result).level is level


def test_its_packages_are_told(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch_xla==2.5.1\nlibtpu\n")
    found = scan([tmp_path], Options(cache=False)).findings
    assert [one.code for one in found] == ["NPU608", "NPU608"]
