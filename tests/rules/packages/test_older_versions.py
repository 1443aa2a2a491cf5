"""What older programs write, and newer releases of torch, Python and NumPy take no more: told where it surely fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify.engine.scan import scan
from npuify.knowledge.third_party.python_names import gone_python_names
from npuify.model import Safety, Severity
from npuify.options import Options
from npuify.report.verdicts.verdict import Level, judge

from ...harness import findings

if TYPE_CHECKING:
    from pathlib import Path

OF_DATA = (
    "from torch.utils.data import Sampler\nclass S(Sampler):\n    def __init__(self, d):\n        super().__init__(d)\n"
)
BETAS = "import torch\ntorch.optim.Adam(p, betas=(0, 0.9))\n"


@pytest.mark.parametrize(
    ("text", "code", "release", "told"),
    [
        (OF_DATA, "NPU670", "2.14.0", True),
        (OF_DATA, "NPU670", "2.9.0.post9", False),
        (BETAS, "NPU671", "2.6.0.post5", True),
        (BETAS, "NPU671", "2.5.1.post1", False),
    ],
)
def test_only_releases_that_refuse_it(text: str, code: str, release: str, told: bool) -> None:
    assert (code in {one.code for one in findings(text, release=release)}) is told


@pytest.mark.parametrize("name", sorted(gone_python_names()))
def test_each_name_is_told_where_it_is_used_and_where_it_is_imported(name: str) -> None:
    module, _, last = name.rpartition(".")
    used = findings(f"import {module}\nprint({name})\n")
    taken = findings(f"from {module} import {last}\nprint({last})\n")
    assert [one.code for one in used] == ["NPU669"]
    assert [one.code for one in taken] == ["NPU669"]


def test_what_only_newer_pythons_lack_is_a_note() -> None:
    (found,) = findings("import inspect\ninspect.getargspec(f)\n")
    assert (found.severity, found.edits) == (Severity.INFO, ())
    (found,) = findings("import collections\ncollections.Mapping\n")
    assert (found.severity, found.safety) == (Severity.ERROR, Safety.SAFE)


@pytest.mark.parametrize(
    "text",
    [
        "import numpy as np\nnp.float32, np.int64, np.bool_\n",
        "import numpy as np\nnp.float = float\n",
        "from collections import OrderedDict\nimport time\ntime.time()\n",
        "try:\n    from collections import Mapping\nexcept ImportError:\n    from collections.abc import Mapping\n",
        "import sys, time\nclock = time.clock if sys.version_info[0] == 2 else time.perf_counter\n",
        "import mine as collections\ncollections.Mapping\n",
    ],
)
def test_nothing_is_said_of_what_is_there_or_asked_for(text: str) -> None:
    assert findings(text) == []


def test_files_without_torch_count_too(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\nimport sizes\nif __name__ == '__main__':\n    print(sizes)\n")
    (tmp_path / "sizes.py").write_text("from platform import linux_distribution\n")
    result = scan([tmp_path], Options(jobs=1, cache=False))
    assert [(one.file, one.code) for one in result.findings] == [("sizes.py", "NPU669")]
    (program,) = judge(result).programs
    assert program.level is not Level.RUNS


def test_functions_of_autograd_need_a_static_forward() -> None:
    old = "class Double(Function):\n    def forward(self, x):\n        return x * 2\n"
    new = "class Static(Function):\n    @staticmethod\n    def forward(ctx, x):\n        return x * 2\n"
    layer = "class Layer(torch.nn.Module):\n    def forward(self, x):\n        return x\n"
    text = f"import torch\nfrom torch.autograd import Function\n{old}{new}{layer}Static.apply(x)\nLayer()\n"
    (found,) = findings(text)
    assert (found.code, found.severity, found.start.line) == ("NPU681", Severity.INFO, 3)
    (found,) = findings(f"{text}y = Double()(x)\n")
    assert (found.severity, found.safety) == (Severity.ERROR, Safety.MANUAL)


def test_the_parts_of_an_old_function_are_parsed(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "from torch.autograd import Function\nclass F(Function):\n    def forward(self, x):\n        return x\nF()(1)\n"
    )
    (found,) = scan([tmp_path], Options(jobs=1, cache=False)).findings
    assert found.code == "NPU681"
