"""A backend that a class of one file names, and another file gives to torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify.model import Safety

from ...harness import findings, output

if TYPE_CHECKING:
    from pathlib import Path

_CLASS = 'import enum\nclass Way(str, enum.Enum):\n    CARDS = "nccl"\n    HOST = "gloo"\n'


@pytest.mark.parametrize(
    ("other", "sure"),
    [
        ("import torch.distributed as dist\nfrom ways import Way\ndist.init_process_group(Way.CARDS.value)\n", True),
        ("import torch.distributed as dist\nimport ways\ndist.new_group(backend=ways.Way.CARDS)\n", True),
        ("from torch.distributed import init_process_group as go\nfrom ways import Way as W\ngo(W.CARDS)\n", True),
        ("import torch.distributed as dist\nfrom ways import Way\ndist.init_process_group(Way.HOST.value)\n", False),
        ("import torch.distributed as dist\nclass Way:\n    CARDS = 'a'\ndist.init_process_group(Way.CARDS)\n", False),
        ("from mine import init_process_group\nfrom ways import Way\ninit_process_group(Way.CARDS)\n", False),
        ("from ways import Way\nprint(Way.CARDS)\n", False),
    ],
)
def test_a_member_is_a_backend_where_torch_gets_it(tmp_path: Path, other: str, sure: bool) -> None:
    (tmp_path / "ways.py").write_text(_CLASS)
    (tmp_path / "train.py").write_text(other)
    found = [item for item in findings(_CLASS, root=tmp_path, name="ways.py") if item.code == "NPU301"]
    assert [item.safety for item in found] == [Safety.SAFE if sure else Safety.REVIEW]


@pytest.mark.parametrize("use", ["", "import torch.distributed as dist\ndist.init_process_group(Way.CARDS)\n"])
def test_what_looks_a_member_up_changes_with_it(use: str) -> None:
    found = [item for item in findings(f'{_CLASS}print(Way("nccl"))\n{use}') if item.code == "NPU301"]
    assert len({item.safety for item in found}) == 1
    assert len(found) == 2


def test_megatrons_own_option_stays_nccl() -> None:
    text = 'from megatron.training import get_args\n\nassert get_args().distributed_backend == "nccl"\n'
    assert output(text, unsafe=True) == text
