from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify.project import find_files
from npuify.project.entry_points import commands
from npuify.project.survey import KINDS, survey
from npuify.project.traces import Trace, trace

if TYPE_CHECKING:
    from pathlib import Path

    from npuify.model import Survey

pytestmark = pytest.mark.core

GUARD = 'import torch\nif __name__ == "__main__":\n    main()\n'


def surveyed(root: Path, files: dict[str, str]) -> Survey:
    """The survey of a project with these files."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    found = find_files([root], kinds=KINDS)
    return survey(found, {file.relative: trace(file.path.read_bytes()) for file in found if file.kind == "python"})


def points(result: Survey) -> dict[str, list[tuple[str, str, int]]]:
    return {one.file: [(m.kind, m.file, m.line) for m in one.mentions] for one in result.entry_points}


# --- main guards and imports -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('if __name__ == "__main__":\n    main()\n', 1),
        ("import os\r\n\r\nif __name__ == '__main__':\r\n    main()\r\n", 3),
        ('x = 1\nif (__name__ == "__main__"):\n    pass\n', 2),
        ('\nif "__main__" == __name__ and True: main()\n', 2),
        ('    if __name__ == "__main__":\n', 0),
        ('# if __name__ == "__main__":\n', 0),
        ('sys.modules["__main__"]\n', 0),
        ("", 0),
    ],
)
def test_main_guards(text: str, line: int) -> None:
    assert trace(text.encode()).guard == line


def test_imports_of_frameworks() -> None:
    code = b"import torch\nimport os, deepspeed as ds\nif x:\n    from nvidia.dali import fn\nimport torch.nn\n"
    assert trace(code).imports == (("torch", 1), ("deepspeed", 2), ("nvidia.dali", 4))
    assert trace(b"from torchy import torch\nimportant = 'import torch'\nfrom .torch import x, triton\n") == Trace()


def test_imports_of_a_notebook() -> None:
    lines = b'{"cells": [{"source": [\n    "import numpy, torch\\n",\n    "  from keras import x"\n]}]}'
    assert trace(lines, notebook=True).imports == (("torch", 2), ("keras", 3))
    assert trace(b'{"cells":[{"source":"import os\\nimport jax\\n"}]}', notebook=True).imports == (("jax", 1),)
    assert trace(b'{"text": ["we import torch\\n", "# import jax"]}', notebook=True) == Trace()


# --- commands --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("python train.py --lr 1", [(1, "train.py")]),
        ("\ntorchrun --nproc_per_node=8 \\\n  tools/train.py\n", [(2, "tools/train.py")]),
        ("python -m torch.distributed.launch --use_env main.py", [(1, "main.py")]),
        ("python3.10 -m pkg.train", [(1, "pkg.train")]),
        ("torchrun -m pkg.train", [(1, "pkg.train")]),
        ("accelerate launch --multi_gpu run.py", [(1, "run.py")]),
        ("cd x && CUDA_VISIBLE_DEVICES=0 python a.py; python b.py", [(1, "a.py"), (1, "b.py")]),
        ('CMD ["python", "serve.py"]', [(1, "serve.py")]),
        ("Then run `python x.py` and look at y.py", [(1, "x.py")]),
        ("python -m pip install x", []),
        ("We love python. See train.txt", []),
        ("vim train.py", []),
    ],
)
def test_commands(text: str, expected: list[tuple[int, str]]) -> None:
    assert [(line, target) for line, _, target in commands(text)] == expected


def test_commands_are_shown_without_what_stands_around_them() -> None:
    text = "* Then run `A=1 torchrun --nproc_per_node=8 x.py` to train.\n$ python \\\n   y.py\n"
    assert [shown for _, shown, _ in commands(text)] == ["torchrun --nproc_per_node=8 x.py", "python y.py"]


# --- the whole project -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ('python sample.py --prompt "12+30="', 'python sample.py --prompt "12+30="'),
        ("command: 'python sample.py --prompt \"a b\"'", 'python sample.py --prompt "a b"'),
        ('"start": "python train.py"', "python train.py"),
    ],
)
def test_quotes_of_a_command_stay_in_pairs(line: str, command: str) -> None:
    assert [text for _, text, _ in commands(line)] == [command]


def test_what_starts_a_file_and_in_which_order(tmp_path: Path) -> None:
    result = surveyed(
        tmp_path,
        {
            "train.py": GUARD,
            "tools/eval.py": "import torch\n",
            "tools/eval.sh": '#!/bin/sh\npython $(dirname "$0")/eval.py\n',
            "README.md": "# Use\n\n```\npython train.py\npython missing.py\n```\n",
            "other.py": "import os\n",
            "tests/test_x.py": GUARD,
            "setup.py": GUARD,
        },
    )
    assert points(result) == {
        "tools/eval.py": [("launcher", "tools/eval.sh", 2)],
        "train.py": [("documentation", "README.md", 4), ("main guard", "train.py", 2)],
    }
    assert list(points(result)) == ["tools/eval.py", "train.py"]


def test_variables_in_a_path_are_passed_over(tmp_path: Path) -> None:
    result = surveyed(
        tmp_path, {"a/b/run.py": "", "go.sh": "python ${ROOT}/b/run.py\npython $SCRIPT.py\npython a/$X/run.py\n"}
    )
    assert points(result) == {"a/b/run.py": [("launcher", "go.sh", 1), ("launcher", "go.sh", 3)]}


def test_a_name_that_two_files_have_is_not_guessed(tmp_path: Path) -> None:
    assert not surveyed(tmp_path, {"a/run.py": "", "b/run.py": "", "go.sh": "python run.py\n"}).entry_points


def test_commands_that_are_installed(tmp_path: Path) -> None:
    result = surveyed(
        tmp_path,
        {
            "src/pkg/cli.py": "",
            "src/pkg/a.py": "",
            "src/pkg/b.py": "",
            "bin/tool.py": "",
            "pyproject.toml": '[project]\nname = "x"\n[project.scripts]\nx = "pkg.cli:main"\ngone = "nowhere:main"\n',
            "setup.cfg": "[options.entry_points]\nconsole_scripts =\n    y = pkg.a:main\n",
            "setup.py": (
                "from setuptools import setup\nsetup(\n  scripts=['bin/tool.py'],\n"
                "  entry_points={'console_scripts': ['z = pkg.b:main [extra]']},\n)\n"
            ),
        },
    )
    assert points(result) == {
        "src/pkg/cli.py": [("console script", "pyproject.toml", 4)],
        "src/pkg/a.py": [("console script", "setup.cfg", 3)],
        "src/pkg/b.py": [("console script", "setup.py", 4)],
        "bin/tool.py": [("installed script", "setup.py", 3)],
    }


@pytest.mark.parametrize("name", ["pyproject_dot_toml", "setup_dot_cfg", "setup_dot_py", "run_dot_sh", "README_dot_md"])
@pytest.mark.parametrize("text", ["[[[\x00", "x" * 1_100_000, "= = =\n[a", "python " + "../" * 500 + "x.py", "\udce9"])
def test_files_that_make_no_sense_do_no_harm(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name.replace("_dot_", ".")
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    (tmp_path / "x.py").write_text("pass\n")
    found = find_files([tmp_path], kinds=KINDS)
    survey(found, {"x.py": Trace(1)})


def test_nothing_of_the_project_is_executed(tmp_path: Path) -> None:
    surveyed(tmp_path, {"setup.py": "open('ran', 'w')\n", "x.py": "open('ran', 'w')\n" + GUARD})
    assert not (tmp_path / "ran").exists()


# --- frameworks and kernels ------------------------------------------------------------------------------------------


def test_frameworks_with_the_versions_that_are_asked_for(tmp_path: Path) -> None:
    result = surveyed(
        tmp_path,
        {
            "a.py": "import torch\nimport flash_attn\n",
            "b.py": "import torch\nimport lightning\n",
            "requirements.txt": "# torch==0.1\ntorch==2.1.0+cu118\nflash-attn >=2.3, <3 ; python_version > '3'\n",
            "pyproject.toml": '[tool.poetry.dependencies]\nlightning = "^2.1"\ntorch = "1.0"\n',
        },
    )
    rows = [(one.name, one.files, one.version, one.cuda_only) for one in result.frameworks]
    assert rows == [
        ("torch", 2, "==2.1.0+cu118", False),
        ("flash_attn", 1, ">=2.3,<3", True),
        ("lightning", 1, "^2.1", False),
    ]


def test_a_script_without_a_guard_is_known_by_its_name_where_nothing_else_is(tmp_path: Path) -> None:
    files = {
        "train_small.py": "import torch\n",
        "net.py": "import torch\n",
        "eval.py": "import json\n",
        "old/train.py": "import torch\n",
        "tests/run.py": "import torch\n",
    }
    (point,) = surveyed(tmp_path / "a", files).entry_points
    assert (point.file, [(one.kind, one.line) for one in point.mentions]) == ("train_small.py", [("usual name", 1)])
    guarded = {**files, "other.py": "import torch\nif __name__ == '__main__':\n    pass\n"}
    assert [one.file for one in surveyed(tmp_path / "b", guarded).entry_points] == ["other.py"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("import torch\nfor epoch in range(2):\n    pass\n", 2),
        ("import torch\ndef main():\n    pass\n\nmain()\n", 5),
        ("import torch\nwhile True:\n    break\n", 2),
        # What only defines, or calls what others define, may be anything.
        ("import torch\ndef main():\n    for one in ():\n        pass\n", 0),
        ("import torch\nseed(1)\n", 0),
        ("import json\nfor epoch in range(2):\n    pass\n", 0),
    ],
)
def test_a_script_works_as_it_is_read(text: str, line: int, tmp_path: Path) -> None:
    files = {"guarded.py": GUARD, "study.py": text, "tests/study.py": text, "conf.py": text}
    found = points(surveyed(tmp_path, files))
    assert found == {"guarded.py": [("main guard", "guarded.py", 2)]} | (
        {"study.py": [("top-level code", "study.py", line)]} if line else {}
    )


@pytest.mark.parametrize("more", [{"main.py": "import study\n" + GUARD}, {"__init__.py": "", "main.py": GUARD}])
def test_what_is_imported_or_part_of_a_package_is_no_script(more: dict[str, str], tmp_path: Path) -> None:
    files = {"lib/study.py": "import torch\nfor one in ():\n    pass\n"}
    found = points(surveyed(tmp_path, files | {f"lib/{name}": text for name, text in more.items()}))
    assert list(found) == ["lib/main.py"]


@pytest.mark.parametrize(
    ("text", "is_program"),
    [
        ("from net import run\nrun()\n", True),
        ("import net\nfor one in net.run():\n    pass\n", True),
        ("from plain import run\nrun()\n", False),
        ("from net import run\ndef later():\n    run()\n", False),
        ("from other import run\nrun()\n", False),
    ],
)
def test_a_framework_may_stand_in_what_a_script_imports(text: str, is_program: bool, tmp_path: Path) -> None:
    files = {"net.py": "import torch\ndef run(): ...\n", "plain.py": "def run(): ...\n", "start.py": text}
    assert ("start.py" in points(surveyed(tmp_path, files))) == is_program


@pytest.mark.parametrize(
    ("name", "text", "is_program"),
    [
        ("test_net.py", "import net\n", True),
        ("test_net.py", "import unittest\n", False),
        ("test_net.py", "import net\ndef test_it(): ...\n", False),
        ("tests/test_net.py", "import net\n", False),
        ("kernels/unit_test.py", "import unittest\n", False),
        ("net_test.py", "import pytest\n", False),
        ("run_test.py", "import net\n", True),
    ],
)
def test_a_name_is_no_proof_of_a_test(name: str, text: str, is_program: bool, tmp_path: Path) -> None:
    files = {"net.py": "import torch\n", name: f"{text}if __name__ == '__main__':\n    net.run()\n"}
    assert (name in points(surveyed(tmp_path, files))) == is_program


def test_a_project_is_not_its_own_framework(tmp_path: Path) -> None:
    result = surveyed(tmp_path, {"timm/__init__.py": "", "run.py": "import timm\nimport torch\n"})
    assert [one.name for one in result.frameworks] == ["torch"]
    namespace = surveyed(tmp_path / "n", {"megatron/core/__init__.py": "", "run.py": "import megatron.core, torch\n"})
    assert [one.name for one in namespace.frameworks] == ["torch"]
    folder = surveyed(tmp_path / "f", {"timm/train.py": "import timm\nimport torch\n"})
    assert [one.name for one in folder.frameworks] == ["timm", "torch"]


def test_kernels_of_the_project(tmp_path: Path) -> None:
    assert surveyed(tmp_path, {"csrc/nms.cu": "", "csrc/nms.cpp": ""}).kernels == ("csrc/nms.cu",)
