"""What a program does with DataParallel's parts only where it counts several cards."""

from __future__ import annotations

import pytest

from npuify.rules.distributed.data_parallel import SEVERAL

from ...harness import findings

HEAD = "import torch\nfrom torch import nn\nfrom torch.nn.parallel import replicate\n\n\n"
OWN = "class Own(nn.DataParallel):\n    pass\n\n\n"


@pytest.mark.parametrize(
    ("text", "is_several"),
    [
        ("def run(m):\n    if torch.cuda.device_count() > 1:\n        return replicate(m, [0, 1])\n", True),
        ("count = torch.cuda.device_count()\nif count >= 2 and True:\n    replicate(nn.Linear(1, 1), [0, 1])\n", True),
        ("def run(m):\n    return replicate(m, [0, 1])\n\n\nif torch.cuda.device_count() > 1:\n    run(1)\n", True),
        ("def run(m):\n    return replicate(m, [0])\n\n\nif torch.cuda.device_count() > 0:\n    run(1)\n", False),
        (
            "def run(m):\n    return replicate(m, [0])\n\n\nif torch.cuda.device_count() > 1:\n    run(1)\nrun(2)\n",
            False,
        ),
        ("if torch.cuda.device_count() > 1:\n    pass\nelse:\n    replicate(nn.Linear(1, 1), [0])\n", False),
        ("if torch.cuda.device_count() > 1 or True:\n    replicate(nn.Linear(1, 1), [0])\n", False),
        (f"{OWN}if torch.cuda.device_count() > 1:\n    net = Own(nn.Linear(1, 1))\n", True),
        (f"{OWN}net = Own(nn.Linear(1, 1))\n", False),
        (f"{OWN}table = [Own]\nif torch.cuda.device_count() > 1:\n    net = Own(nn.Linear(1, 1))\n", False),
    ],
)
def test_places_of_several_cards(text: str, is_several: bool) -> None:
    told = [one for one in findings(f"{HEAD}{text}") if one.code == "NPU319"]
    assert told and {one.only_with == SEVERAL for one in told} == {is_several}
