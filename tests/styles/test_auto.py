"""The automatic style: where transfer_to_npu is imported, and what is edited since it does not reach that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import npuify
from npuify import knowledge
from npuify.model import Severity
from npuify.options import Options
from npuify.rewrite.plan import Draft

from ..harness import findings, output

if TYPE_CHECKING:
    from pathlib import Path

    from npuify.model import MigrationResult

IMPORTS = "import torch_npu  # noqa: F401\nfrom torch_npu.contrib import transfer_to_npu  # noqa: F401\n"
USE = "import torch\n\n\ndef run():\n    torch.cuda.synchronize()\n"
GUARD = "\nif __name__ == '__main__':\n    run()\n"


def _migrate(folder: Path, files: dict[str, str], release: str = "2.14.0") -> MigrationResult:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    options = Options(style="auto", torch_npu=release, jobs=1, cache=False)
    result = npuify.migrate(folder, None, options, mode="in-place")
    assert not result.scan.errors
    again = npuify.migrate(folder, None, options, mode="check")
    assert again.changed_files == ()
    return result


@pytest.mark.parametrize(
    ("files", "changed"),
    [
        ({"train.py": USE + GUARD, "model.py": USE}, ["train.py"]),
        ({"train.py": USE, "run.sh": "torchrun --nproc_per_node 8 train.py\n", "model.py": USE}, ["train.py"]),
        ({"a.py": USE + GUARD, "b.py": "from a import run\n" + GUARD, "c.py": "import os\n" + GUARD}, ["a.py", "b.py"]),
        # A program without a main guard whose torch is another module's, and which does what it does in cases.
        (
            {
                "compat.py": "import torch\n",
                "main.py": "import compat\n\nx = compat.torch.cuda.FloatTensor([1.0])\nmatch len(x):\n    case 1:\n        x.cuda()\n",
            },
            ["main.py"],
        ),
        (
            {
                "pyproject.toml": "[project.scripts]\ntrain = 'pkg.cli:main'\n",
                "pkg/__init__.py": "",
                "pkg/cli.py": "def main():\n    from pkg import core\n",
                "pkg/core.py": USE,
            },
            ["pkg/cli.py"],
        ),
        (
            {
                "README.md": "    python -m pkg\n",
                "pkg/__init__.py": "from pkg.core import run\n",
                "pkg/__main__.py": "from pkg import run\nrun()\n",
                "pkg/core.py": "from torch.cuda import synchronize\n\ndef run():\n    synchronize()\n",
            },
            ["pkg/__init__.py"],
        ),
        ({"plot.py": "import torch\n" + GUARD, "README.md": "    python plot.py\n"}, []),
        ({"tests/test_a.py": USE + GUARD}, ["tests/test_a.py"]),
        ({"tests/test_a.py": USE, "model.py": USE}, []),
        ({"start.py": "from model import run\n\nrun()\n", "model.py": USE}, ["start.py"]),
        (
            {"test.py": USE + "\nrun()\n", "test_net.py": "from model import run\n" + GUARD, "model.py": USE},
            ["test.py", "test_net.py"],
        ),
        # Without a guard as well, where nothing in it is a test.
        (
            {
                "test_net.py": "from model import run\nprint(run())\n",
                "test_unit.py": "from model import run\nprint(0)\n\n\ndef test_run():\n    run()\n",
                "main.py": "from model import run\n" + GUARD,
                "model.py": USE,
            },
            ["main.py", "test_net.py", "test_unit.py"],
        ),
        # pytest starts files of tests, after the nearest conftest.
        (
            {
                "tests/conftest.py": "import pytest\n",
                "tests/unit/test_a.py": "from model import run\n\n\ndef test_run():\n    run()\n",
                "tests/unit/test_b.py": "import os\n\n\ndef test_it():\n    assert os.sep\n",
                "model.py": USE,
            },
            ["tests/conftest.py"],
        ),
        (
            {"start.py": "from plot import run\n\nrun()\n", "plot.py": "def run(): ...\n", "model.py": USE + GUARD},
            ["model.py"],
        ),
        ({"setup.py": "import torch\ntorch.cuda.is_available()\n" + GUARD}, []),
    ],
    ids=[
        "guard",
        "launcher",
        "cases",
        "several",
        "console script",
        "module of a package",
        "no cuda",
        "tests that start themselves",
        "tests",
        "torch elsewhere",
        "called like tests",
        "called like tests without a guard",
        "a conftest",
        "no torch",
        "setup",
    ],
)
def test_each_program_imports_it_and_nothing_else_does(
    tmp_path: Path, files: dict[str, str], changed: list[str]
) -> None:
    assert list(_migrate(tmp_path, files).changed_files) == changed
    for name in changed:
        assert IMPORTS in (tmp_path / name).read_text()


@pytest.mark.parametrize(
    ("head", "after"),
    [
        ("import os\nimport torch\nimport torch.nn as nn\n", "import os\nimport torch\n@import torch.nn as nn\n"),
        ("import torch.nn as nn\nimport torch\n", "@import torch.nn as nn\nimport torch\n"),
        ("import numpy as np\nfrom torch import nn\n", "import numpy as np\n@from torch import nn\n"),
        ("import timm\nimport torch\n", "@import timm\nimport torch\n"),
        ("from . import data\nimport torch\n", "@from . import data\nimport torch\n"),
        (
            '"""Trains."""\n\nfrom __future__ import annotations\n\nimport sys\n\nimport torch\n',
            '"""Trains."""\n\nfrom __future__ import annotations\n\nimport sys\n\nimport torch\n@',
        ),
        ("try:\n    import apex\nexcept ImportError:\n    apex = None\nimport torch\n", None),
        (
            "import torch_npu\nimport torch\n",
            "from torch_npu.contrib import transfer_to_npu  # noqa: F401\nimport torch_npu",
        ),
        (f"import torch\n{IMPORTS}", f"import torch\n{IMPORTS}"),
    ],
)
def test_it_stands_before_whatever_takes_names_out_of_torch(head: str, after: str | None) -> None:
    text = head + "torch.cuda.synchronize()\n"
    got = output(text, style="auto")
    if after is None:
        assert got.startswith(IMPORTS + "try:")
    else:
        assert got.startswith(after.replace("@", IMPORTS))


def test_a_library_is_told_to_import_it_in_its_programs(tmp_path: Path) -> None:
    result = _migrate(tmp_path, {"pkg/__init__.py": "", "pkg/core.py": USE})
    (left,) = [finding for finding in result.left if finding.code == "NPU119"]
    assert left.file == "pkg/core.py"
    assert "no entry point" in left.message


def test_nothing_is_imported_for_another_framework(tmp_path: Path) -> None:
    text = "import paddle\n\ndef f(x):\n    return x.cuda()\n"
    result = _migrate(tmp_path, {"pkg/__init__.py": "", "pkg/core.py": text})
    assert not [finding for finding in result.left if finding.code == "NPU119"]


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ('assert x.device.type == "cuda"', 'assert x.device.type in ("cuda", "npu")'),
        ("other = x.device.type != 'cuda'", "other = x.device.type not in ('cuda', 'npu')"),
        ('kind = x.device.type\nassert kind == "cuda"', 'kind = x.device.type\nassert kind in ("cuda", "npu")'),
        ('assert str(x.device) == "cuda"', 'assert str(x.device) in ("cuda", "npu")'),
        ('assert x.device.type in ("cuda", "xpu")', 'assert x.device.type in ("cuda", "npu", "xpu")'),
        ('assert str(x.device).startswith("cuda")', 'assert str(x.device).startswith(("cuda", "npu"))'),
        ('assert dist.get_backend() == "nccl"', 'assert dist.get_backend() in ("nccl", "hccl")'),
        ('b = dist.get_backend()\nassert b == "nccl"', 'b = dist.get_backend()\nassert b in ("nccl", "hccl")'),
        (
            'class A:\n    def __init__(self):\n        self.b = dist.get_backend()\n    def f(self):\n        return self.b == "nccl"',
            'class A:\n    def __init__(self):\n        self.b = dist.get_backend()\n    def f(self):\n        return self.b in ("nccl", "hccl")',
        ),
        (
            'def kind(x: torch.Tensor):\n    return x.device.type\nassert kind(x) == "cuda"',
            'def kind(x: torch.Tensor):\n    return x.device.type\nassert kind(x) in ("cuda", "npu")',
        ),
        ("assert dist.get_backend() == dist.Backend.NCCL", "assert dist.get_backend() == dist.Backend.HCCL"),
        (
            "big = torch.cuda.get_device_capability() >= (8, 0)",
            "big = (torch.cuda.get_device_capability() or (0, 0)) >= (8, 0)",
        ),
        ("scaler = torch.amp.GradScaler('cuda')", "scaler = torch.amp.GradScaler('npu')"),
        ("x = x.cuda('cuda:1', non_blocking=True)", "x = x.to('cuda:1', non_blocking=True)"),
        ("x = x.cuda(torch.device('cuda'), True)", "x = x.to(torch.device('cuda'), non_blocking=True)"),
        ("d = torch.device('cuda', 1)\nx = x.cuda(device=d)", "d = torch.device('cuda', 1)\nx = x.to(device=d)"),
        (
            "class A:\n    def __init__(self, d: torch.device):\n        self.d = d\n    def f(self):\n        return x.cuda(self.d)",
            "class A:\n    def __init__(self, d: torch.device):\n        self.d = d\n    def f(self):\n        return x.to(self.d)",
        ),
        ("torch.cuda.memory.memory_allocated()", "torch.npu.memory.memory_allocated()"),
        ("state = torch.load('runs/cuda/best.pt')", "state = torch.load(f='runs/cuda/best.pt')"),
        ("state = torch.load('cuda.pt', 'cpu')", "state = torch.load(f='cuda.pt', map_location='cpu')"),
    ],
)
def test_what_it_does_not_reach_is_edited(line: str, after: str) -> None:
    head = "import torch\nimport torch.distributed as dist\nx = torch.ones(2)\n"
    assert output(head + line + "\n", style="auto").endswith(after + "\n")


@pytest.mark.parametrize(
    "line",
    [
        "torch.cuda.synchronize()",
        "x = x.cuda(non_blocking=True)",
        "x = x.cuda(args.gpu, non_blocking=True)",
        "def f(x, device=None):\n    return x.cuda(device)",
        "def f(x, device: torch.device = None):\n    return x.cuda(device)",
        "x = x.to('cuda')",
        "x = torch.zeros(2, device='cuda:0')",
        "device = torch.device('cuda')",
        "torch.cuda.set_device('cuda:1')",
        "assert x.is_cuda",
        "with torch.autocast('cuda'):\n    pass",
        "with torch.cuda.amp.autocast():\n    pass",
        "from torch.cuda.amp import GradScaler",
        "from torch.cuda import Event, Stream",
        "graph = torch.cuda.CUDAGraph()",
        "dist.init_process_group('nccl')",
        "group = dist.new_group([0], backend='nccl')",
        "backend = 'nccl' if torch.cuda.is_available() else 'gloo'",
        "b = group()\nb = b.lower()\nassert b == 'nccl'",
        "assert dist.is_nccl_available()",
        "if args.device == 'cuda':\n    pass",
        "state = torch.load(path, map_location={'cuda:0': 'cuda:1'})",
        "state = torch.load(open('cuda.pt', 'rb'))",
        "state = torch.load('best.pt')",
        "network = torch.nn.Linear(2, 2, device='cuda')",
    ],
)
def test_what_it_reaches_stays(line: str) -> None:
    head = f"import torch\n{IMPORTS}import torch.distributed as dist\nx = torch.ones(2)\n"
    assert output(f"{head}{line}\n", style="auto") == f"{head}{line}\n"
    found = [item for item in findings(f"{head}{line}\n", style="auto") if item.severity.value == "error"]
    assert found == []


def test_what_a_release_reaches_is_read_from_it() -> None:
    text = f"import torch\n{IMPORTS}if torch.is_autocast_enabled():\n    pass\n"
    assert output(text, style="auto", release="2.14.0") == text
    assert "torch.npu.is_autocast_enabled()" in output(text, style="auto", release="2.1.0.post17")
    handed = f"import torch\n{IMPORTS}from torch.distributed import ProcessGroupNCCL\n"
    codes = {
        release: [f.code for f in findings(handed, style="auto", release=release)]
        for release in ("2.14.0", "2.1.0.post17")
    }
    assert codes == {"2.14.0": [], "2.1.0.post17": ["NPU304"]}


def test_jit_is_said_to_be_turned_off() -> None:
    (found,) = [
        f for f in findings("import torch\nm = torch.jit.script(m)\nm.cuda()\n", style="auto") if f.code == "NPU401"
    ]
    assert found.severity.value == "warning"
    assert "turns torch.jit.script off" in found.message


@pytest.mark.parametrize(("style", "severity"), [("auto", "error"), ("npu", "warning")])
def test_data_parallel_is_said_to_refuse_its_parameters(style: str, severity: str) -> None:
    found = findings("import torch\nmodel = torch.nn.DataParallel(net.cuda())\n", style=style)
    said = next(one for one in found if one.code == "NPU310")
    assert said.severity == severity and ("refuses" in said.message) == (style == "auto")


def test_doubles_are_said_to_become_floats() -> None:
    found = [f for f in findings("import torch\nx = torch.cuda.DoubleTensor(2)\n", style="auto") if f.code == "NPU101"]
    assert [f.severity.value for f in found] == ["warning"]


@pytest.mark.parametrize("release", [info.torch_npu for info in knowledge.releases() if info.has_table])
def test_every_release_says_what_it_reaches(release: str) -> None:
    table = knowledge.load(release)
    for name in (
        "torch.cuda",
        "torch.cuda.synchronize",
        "torch.cuda.Event",
        "torch.cuda.Event.record",
        "torch.cuda.amp.autocast",
        "torch.cuda.amp.GradScaler",
        "torch.Tensor.cuda",
        "torch.distributed.init_process_group",
        "torch.jit.script",
    ):
        assert table.transfer_reaches(name), name
    for name in (
        "torch.device",
        "torch.cuda.nvtx.range_push",
        "torch.cuda.memory.memory_allocated",
        "torch.amp.GradScaler",
    ):
        assert not table.transfer_reaches(name), name


@pytest.mark.parametrize("name", ["flash_attn", "xformers.ops"])
def test_a_call_that_the_program_does_without_stays(name: str) -> None:
    """Where the import fails the program has another way, so that the call is never reached on an NPU."""
    call = "flash_attn_func" if name == "flash_attn" else "memory_efficient_attention"
    guarded = f"try:\n    from {name} import {call}\nexcept ImportError:\n    {call} = None\n"
    use = f"import torch\ndef f(q, k, v):\n    return {call}(q, k, v) if {call} else q\n"
    assert output(guarded + use, style="auto", unsafe=True).endswith(guarded + use)
    assert "npu_fusion_attention" in output(f"from {name} import {call}\n" + use, style="auto", unsafe=True)


@pytest.mark.parametrize(
    ("device", "is_told"),
    [
        ('settings["device"]', True),
        ('ini.get("run", "device")', True),
        ("settings.device", True),
        ('settings["gpu"]', False),
        ('settings.get("rank", 0)', False),
        ("settings.local_rank", False),
    ],
)
def test_a_device_of_settings_that_reaches_cuda_is_told_of(device: str, is_told: bool) -> None:
    text = f"import torch\nfrom elsewhere import ini, settings\n\ntorch.ones(3).cuda({device})\n"
    told = [one for one in findings(text, style="auto") if one.code == "NPU110" and one.severity is Severity.WARNING]
    assert bool(told) is is_told


def test_what_this_run_puts_beside_a_place_is_no_support_of_the_project(tmp_path: Path) -> None:
    """It is as grave as it was; edits beside it are no proof that the project treats the NPU by itself."""
    sought = "    if 'cuda' in (  # the text\n        str(device)\n    ):\n        return 2\n"
    typed = "    if isinstance(device, torch.device) and device.type == 'cuda':\n        return 1\n    return 0\n"
    text = f"import torch\n\n\ndef kind(device):\n{sought}{typed}\n\nkind(str(torch.ones(2).cuda().device))\n"
    (tmp_path / "train.py").write_text(text)
    (left,) = Draft(tmp_path, Options(style="auto", jobs=1, cache=False)).left()
    assert (left.code, left.severity) == ("NPU120", Severity.WARNING)


def test_a_device_that_is_made_from_itself(tmp_path: Path) -> None:
    """Comparing it is no reason to look for what it is made from without end."""
    made = "def f(value, device=None):\n    device = torch.device('cuda') if device is None else torch.device(device)\n"
    compared = "    return value.to(device).device.type == device.type\n"
    _migrate(tmp_path, {"train.py": "import torch\n\n\n" + made + compared + "\n\nprint(f(torch.ones(1)))\n"})


@pytest.mark.parametrize(
    ("call", "release", "is_told"),
    [
        ("dist.broadcast(x, src=0)", "2.13.0", True),
        ("dist.broadcast_object_list([x], src=0)", "2.14.0", True),
        ("((dist).broadcast)(x, src=0)", "2.14.0", True),
        ("dist.broadcast (x, src=0)", "2.14.0", True),
        ("dist.broadcast(x, src=0)", "2.7.1.post11", False),
        ("dist.all_reduce(x)", "2.14.0", False),
        ("torch.broadcast_tensors(x, x)", "2.14.0", False),
    ],
)
def test_a_broadcast_that_asks_for_a_capability_is_told_of(call: str, release: str, is_told: bool) -> None:
    """The real torch_npu 2.13.0 and 2.14.0 say so: TypeError: 'NoneType' object is not subscriptable."""
    text = f"import torch\nimport torch.distributed as dist\n\nx = torch.ones(1).cuda()\n{call}\n"
    assert any(one.code == "NPU328" for one in findings(text, style="auto", release=release)) is is_told


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("table = {torch.device('cuda', 0): 1}", "NPU123"),
        ("table = {torch.device(f'cuda:{i}'): i for i in range(2)}", "NPU123"),
        ("test.assertEqual(x.device, torch.device('cuda:0'))", "NPU123"),
        ("same = torch.device(os.environ['PLACE']).type == x.device.type", "NPU123"),
        ("same = torch.device('cuda').type == next(iter(torch.utils.data.DataLoader(data)))[0].device.type", "NPU123"),
        ("same = torch.device(torch.device(0)) == torch.device('cuda', 0)", "NPU123"),
        ("same = torch.device('cuda:0') == torch.device(torch.cuda.current_device())", "NPU123"),
        ("same = torch.device(0) == torch.device('cpu')", ""),
        ("at = f'{x.device}'.index('cuda')", "NPU120"),
        ("is_gpu = ( ask().device ).__str__().startswith('cuda')", "NPU120"),
        ("kinds = get_args(Literal['cuda', 'cpu'])", "NPU120"),
        ("table = {torch.device('cpu'): 1}", ""),
        ("at = str(torch.device('cuda')).index('cuda')", ""),
    ],
)
def test_what_meets_what_a_tensor_says_is_told_of(line: str, code: str) -> None:
    head = "import os\nfrom typing import Literal, get_args\n\nimport torch\n\nx = torch.ones(1).cuda()\n"
    told = {one.code for one in findings(f"{head}{line}\n", style="auto") if one.severity is Severity.WARNING}
    assert told == ({code} if code else set())


HELD = """
kinds = [t.device.type for t in tensors]
texts = [str(t.device) for t in tensors]
found = set()
found.add(tensors[0].device.type)
"""


@pytest.mark.parametrize(
    "asked",
    [
        "'cuda' in kinds",
        "kinds.count('cuda')",
        "kinds.index('cuda')",
        "kinds == ['cuda', 'cpu']",
        "'cuda' in found",
        "found & {'cuda'}",
        "'cuda:0' in list(texts)",
        "next(kind for kind in kinds) == 'cuda'",
        "[one for one in texts if one.partition(':')[0] == 'cuda']",
    ],
)
def test_what_is_sought_in_what_tensors_say_is_edited_or_told(asked: str) -> None:
    text = f"import torch\n{HELD}print(len(kinds) if {asked} else 0)\n"
    told = [one for one in findings(text, style="auto") if one.code in ("NPU120", "NPU123", "NPU191")]
    assert [one.start.line for one in told] == [7]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("class Place(str):\n    pass\n\nx = torch.ones(1).cuda(device=Place('cuda'))\n", "NPU110"),
        ("print(int((torch.version).cuda.split('.')[0]))\n", "NPU132"),
    ],
)
def test_what_transfer_to_npu_does_not_take_is_told(text: str, code: str) -> None:
    told = [one for one in findings(f"import torch\n{text}", style="auto") if one.code == code]
    assert [bool(one.edits) for one in told] == [False]
