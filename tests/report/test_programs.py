"""Each program of a project has a verdict of its own: an entry point with what it imports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from npuify.engine.catalog import all_rules
from npuify.engine.scan import scan
from npuify.options import STYLES, Options
from npuify.report import render_scan
from npuify.report.verdicts.verdict import Level, judge
from npuify.rewrite.plan import plan
from npuify.rules.impact import GOES_ON

if TYPE_CHECKING:
    from pathlib import Path

    from npuify.report.verdicts.programs import ProgramVerdict

MAIN = "if __name__ == '__main__':\n    pass\n"
FILES = {
    "plain.py": "import torch\nimport nets\nx = torch.ones(1).cuda()\n" + MAIN,
    "nets.py": "import torch\ntorch.backends.cudnn.benchmark = True\n",
    "render.py": "import cupy\nimport pycuda.driver\n" + MAIN,
    "through.py": "from deep import (\n    other,\n)\n" + MAIN,
    "deep/__init__.py": "",
    "deep/other.py": "import pycuda.driver\n",
    "asked.py": "import argparse\np = argparse.ArgumentParser()\np.add_argument('--fast', action='store_true')\n"
    "args = p.parse_args()\nif args.fast:\n    import pycuda.driver\n" + MAIN,
    "chosen.py": "import importlib, sys\nimportlib.import_module(sys.argv[1])\n" + MAIN,
    "version.py": "import torch\nmajor = torch.version.cuda.split('.')[0]\n" + MAIN,
    "unused.py": "import pycuda.driver\n",
    "environment.yml": "dependencies:\n  - pycuda\n",
    "Dockerfile": "FROM nvidia/cuda:12.1.0-runtime-ubuntu22.04\n",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("programs")
    for name, text in FILES.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    return root


def verdicts(project: Path) -> dict[str, ProgramVerdict]:
    return {one.file: one for one in judge(scan([project], Options(jobs=1, cache=False))).programs}


def test_each_program_is_judged_by_what_lies_on_its_path(project: Path) -> None:
    found = verdicts(project)
    levels = {file: one.level for file, one in found.items()}
    assert levels == {
        "plain.py": Level.RUNS,  # a switch without effect decides nothing
        "render.py": Level.BLOCKED,
        "through.py": Level.BLOCKED,
        "asked.py": Level.RUNS,
        "chosen.py": Level.REVIEW,  # which module it imports is not known
        "version.py": Level.WORK,
    }
    assert [(place.file, place.line) for one in found["through.py"].blockers for place in one.places] == [
        ("deep/other.py", 1)
    ]
    assert [one.what for one in found["asked.py"].conditional] == ["--fast"]
    assert [place.line for one in found["version.py"].deciding for place in one.places] == [2]


CARDS = "import torch\nmodel = torch.nn.DataParallel(torch.nn.Linear(1, 1).cuda(){ids})\n" + MAIN
SPREAD = (
    "import torch\nn = int(input())\ny = torch.nn.parallel.data_parallel(net, x, {ids})\ntorch.cuda.init()\n" + MAIN
)
RANK = (
    "import argparse\nimport torch\np = argparse.ArgumentParser()\np.add_argument({names})\ntorch.cuda.init()\n" + MAIN
)


@pytest.mark.parametrize(
    ("text", "level", "asked"),
    [
        ("import torch\ntorch.backends.cudnn.allow_tf32 = True\n" + MAIN, Level.RUNS, []),
        ("import torch\ntorch.backends.cudnn.deterministic = True\n" + MAIN, Level.RUNS, []),
        (CARDS.format(ids=""), Level.RUNS, ["several visible cards"]),
        (CARDS.format(ids=", device_ids=[0]"), Level.RUNS, ["several visible cards"]),
        (CARDS.format(ids=", device_ids=[0, 1]"), Level.REVIEW, []),
        (SPREAD.format(ids="range(n)"), Level.RUNS, ["several visible cards"]),
        (SPREAD.format(ids="[0, 1]"), Level.REVIEW, []),
        (SPREAD.format(ids="range(n)").replace("data_parallel(", "replicate("), Level.REVIEW, []),
        (RANK.format(names="'--local_rank', type=int"), Level.RUNS, []),
        ("#!/usr/bin/env python\r\nimport torch\r\ntorch.ones(1).cuda()\r\n" + MAIN, Level.RUNS, []),
        (RANK.format(names="'--local_rank'") + "p.add_argument('--local-rank')\n", Level.REVIEW, []),
    ],
)
def test_what_stops_no_program_decides_nothing(text: str, level: Level, asked: list[str], tmp_path: Path) -> None:
    (tmp_path / "train.py").write_bytes(text.encode())
    (found,) = verdicts(tmp_path).values()
    assert (found.level, [one.what for one in found.conditional]) == (level, asked)


ASKING = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--fast', action='store_true')\nargs = p.parse_args()\n"
CUPY = "import cupy\nx = cupy.zeros(1)\n"


@pytest.mark.parametrize(
    ("files", "level", "asked"),
    [
        # A function that nothing names never runs its imports.
        (
            {"use.py": "def one():\n    import parts\ndef two(): ...\n", "main.py": "from use import two\ntwo()\n"},
            "runs",
            [],
        ),
        ({"use.py": "def one():\n    import parts\nALL = {'one': one}\n", "main.py": "import use\n"}, "runs", []),
        ({"use.py": "def one():\n    import parts\n", "main.py": "from use import one\none()\n"}, "blocked", []),
        (
            {"use.py": "def one():\n    import parts\nALL = {'one': one}\n", "main.py": "from use import ALL\n"},
            "review",
            [],
        ),
        (
            {"use.py": "def one():\n    import parts\n", "main.py": "import sys, use\ngetattr(use, sys.argv[1])()\n"},
            "review",
            [],
        ),
        # Methods are called by frameworks, decorated functions by anybody: nobody knows whether they are.
        ({"main.py": "class A:\n    def step(self):\n        import parts\n"}, "review", []),
        ({"main.py": "@register\ndef one():\n    import parts\n"}, "review", []),
        # What cannot be imported, and is not needed.
        (
            {"main.py": "try:\n    from parts import x\nexcept ImportError:\n    x = None\n"},
            "runs",
            ["the optional import at main.py:2"],
        ),
        ({"main.py": "try:\n    import parts\nexcept ImportError:\n    raise\n"}, "blocked", []),
        (
            {
                "main.py": "try:\n    from parts import x\nexcept ImportError:\n    x = None\n",
                "parts.py": "def f():\n    " + CUPY[:12],
            },
            "review",
            [],
        ),
        # Behind an option.
        ({"main.py": f"{ASKING}if args.fast:\n    import parts\n"}, "runs", ["--fast"]),
        ({"main.py": f"{ASKING}if args.fast:\n    import parts\nimport parts\n"}, "blocked", []),
        ({"main.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import parts\n"}, "runs", []),
        # By names that are known when it runs.
        ({"main.py": f"{ASKING}import importlib\nif args.fast:\n    importlib.import_module(args.name)\n"}, "runs", []),
        ({"main.py": "import importlib, sys\nimportlib.import_module(sys.argv[1])\n"}, "review", []),
        (
            {
                "main.py": "import importlib, sys\nimportlib.import_module('nets.' + sys.argv[1])\n",
                "nets/__init__.py": "",
            },
            "runs",
            [],
        ),
        (
            {
                "main.py": "import importlib, sys\nimportlib.import_module(f'nets.{sys.argv[1]}')\n",
                "nets/__init__.py": "",
                "nets/one.py": "import cupy\n",
            },
            "review",
            [],
        ),
    ],
)
def test_which_imports_run(files: dict[str, str], level: str, asked: list[str], tmp_path: Path) -> None:
    for name, text in {"parts.py": CUPY, **files}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text + (f"import torch\n{MAIN}" if name == "main.py" else ""))
    found = verdicts(tmp_path)["main.py"]
    assert (found.level.value, [one.what for one in found.conditional]) == (level, asked)


def test_kernels_behind_an_option_or_an_import_that_may_fail_block_nothing(tmp_path: Path) -> None:
    kernel = (
        "#include <torch/extension.h>\n__global__ void k(float* x) { x[threadIdx.x] += 1; }\n"
        "void fast(torch::Tensor x) { k<<<1, 32>>>(x.data_ptr<float>()); }\n"
        'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("fast", &fast); }\n'
    )
    setup = (
        "from setuptools import setup\nfrom torch.utils.cpp_extension import CUDAExtension\n"
        "setup(ext_modules=[CUDAExtension('fast_ops', ['fast.cu'])])\n"
    )
    (tmp_path / "fast.cu").write_text(kernel)
    (tmp_path / "setup.py").write_text(setup)
    (tmp_path / "window.py").write_text("import torch\nimport fast_ops\ndef run(x):\n    fast_ops.fast(x)\n")
    (tmp_path / "needs.py").write_text(f"import torch\nfrom window import run\nrun(1)\n{MAIN}")
    (tmp_path / "may.py").write_text(f"import torch\ntry:\n    from window import run\nexcept:\n    run = None\n{MAIN}")
    (tmp_path / "window_two.py").write_text(
        "import torch\ntry:\n    import fast_ops\nexcept ImportError:\n    pass\n\n\nclass Window:\n    def __call__(self, x):\n        fast_ops.fast(x)\n"
    )
    option = "import argparse, torch\nfrom window_two import Window\np = argparse.ArgumentParser()\np.add_argument('--fast', action='store_true')\n"
    option += "args = p.parse_args()\nif 'fast' not in args:\n    args.fast = False\nif args.fast:\n    Window()(1)\n"
    (tmp_path / "asked.py").write_text(option + MAIN)
    found = verdicts(tmp_path)
    assert {file: one.level for file, one in found.items()} == {
        "needs.py": Level.BLOCKED,
        "may.py": Level.RUNS,
        "asked.py": Level.RUNS,
    }
    assert {one.what for one in found["may.py"].conditional} == {"the optional import at may.py:3"}
    assert {one.what for one in found["asked.py"].conditional} == {"--fast"}


def test_what_no_program_reaches_blocks_none(project: Path, tmp_path: Path) -> None:
    for name in ("plain.py", "nets.py", "unused.py", "environment.yml", "Dockerfile"):
        (tmp_path / name).write_text(FILES[name])
    verdict = judge(scan([tmp_path], Options(jobs=1, cache=False)))
    assert (verdict.level, verdict.blockers) == (Level.REVIEW, ())
    assert [one.level for one in verdict.programs] == [Level.RUNS]


def test_the_verdicts_stand_in_each_report(project: Path) -> None:
    result = scan([project], Options(jobs=1, cache=False))
    assert "Program through.py: blocked." in render_scan(result)
    assert "| `asked.py` | Runs after migration." in render_scan(result, "markdown")
    assert "<h2>Programs</h2>" in render_scan(result, "html")
    document = json.loads(render_scan(result, "json"))
    assert {one["file"] for one in document["verdict"]["programs"]} == set(verdicts(project))


def test_what_is_said_to_stop_nothing_exists() -> None:
    assert GOES_ON.keys() <= all_rules().keys()


@pytest.mark.parametrize(
    ("reading", "style", "level"),
    [
        ("cfg = json.load(open('cfg.json'))", "npu", Level.RUNS),
        # The file stays as it is, since machines with CUDA need it so.
        ("cfg = json.load(open('cfg.json'))", "portable", Level.REVIEW),
        ("cfg = {'device': 'cpu'}", "portable", Level.RUNS),
    ],
)
def test_what_a_file_that_is_read_says_decides(reading: str, style: str, level: Level, tmp_path: Path) -> None:
    (tmp_path / "cfg.json").write_text('{"device": "cuda"}\n')
    (tmp_path / "main.py").write_text(
        f"import json\nimport torch\n{reading}\nx = torch.ones(1, device=cfg['device'])\n"
    )
    result, _ = plan(tmp_path, Options(style=style, jobs=1, cache=False))
    (program,) = judge(result).programs
    assert program.level is level


def test_what_an_edit_has_settled_is_not_told_again(tmp_path: Path) -> None:
    text = "import torch\nfrom apex.normalization import FusedLayerNorm\nn = FusedLayerNorm(10).cuda()\n"
    (tmp_path / "main.py").write_text(text)
    for style in STYLES:
        result, _ = plan(tmp_path, Options(style=style, jobs=1, cache=False))
        assert not result.left, style
        assert [one.level for one in judge(result).programs] == [Level.RUNS]


def test_a_file_that_says_what_is_installed_is_no_setting(tmp_path: Path) -> None:
    """A program that names its pyproject.toml for a version does not need the packages of an extra."""
    (tmp_path / "pyproject.toml").write_text(
        "[project]\nname = 'x'\n[project.optional-dependencies]\njax = ['jax==0.4.8', 'flax==0.6.8']\n"
    )
    (tmp_path / "train.py").write_text(
        "import os\nimport torch\n\nif __name__ == '__main__':\n    print(os.path.exists('pyproject.toml'))\n"
        "    print(torch.ones(1).cuda())\n"
    )
    (program,) = judge(scan([tmp_path], Options(torch_npu="2.13.0", jobs=1, cache=False))).programs
    assert program.level is Level.RUNS


def test_a_module_of_another_package_taken_by_name_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("import torch\nprint(torch.cuda.cudart())\n")
    (tmp_path / "train.py").write_text(
        "import argparse\nimport importlib\nimport torch\n\nif __name__ == '__main__':\n"
        "    p = argparse.ArgumentParser()\n    p.add_argument('--game')\n"
        "    importlib.import_module(f'pettingzoo.atari.{p.parse_args().game}')\n    print(torch.ones(1).cuda())\n"
    )
    found = judge(scan([tmp_path], Options(torch_npu="2.13.0", jobs=1, cache=False))).programs
    assert {one.file: one.level for one in found}["train.py"] is Level.RUNS
    (tmp_path / "pettingzoo").mkdir()
    (tmp_path / "pettingzoo" / "atari").mkdir()
    (tmp_path / "pettingzoo" / "atari" / "pong.py").write_text("import torch\nprint(torch.cuda.cudart())\n")
    found = judge(scan([tmp_path], Options(torch_npu="2.13.0", jobs=1, cache=False))).programs
    assert {one.file: one.level for one in found}["train.py"] is Level.REVIEW


def test_a_start_on_tensorflow_is_said_of_that_program_alone(tmp_path: Path) -> None:
    """What imports a program for TensorFlow, to export a model to it, is a program of PyTorch."""
    (tmp_path / "tf_net.py").write_text(
        "import tensorflow as tf\nfrom tensorflow import keras\n\nnet = keras.Sequential()\n\n"
        "if __name__ == '__main__':\n    net.compile()\n    net.fit(1, 2)\n"
    )
    (tmp_path / "train.py").write_text(
        "import torch\nfrom tf_net import net\n\nif __name__ == '__main__':\n"
        "    torch.nn.Linear(1, 1).cuda()(torch.ones(1).cuda()).backward()\n"
    )
    options = Options(torch_npu="2.13.0", tf_adapter="2.6.5", jobs=1, cache=False)
    result = scan([tmp_path], options)
    assert [one.file for one in result.findings if one.code == "NPU910"] == ["tf_net.py"]
    found = {one.file: [kind.what for kind in one.deciding] for one in judge(result).programs}
    assert not any("NPU910" in what for what in found["train.py"])
    assert any("NPU910" in what for what in found["tf_net.py"])
