"""A module of the project's own that hands on ``torch.cuda`` keeps the name by which others take it from there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ...harness import output

if TYPE_CHECKING:
    from pathlib import Path

COMPAT = "from torch import cuda\n"


def migrated(root: Path, files: dict[str, str], name: str = "main.py") -> str:
    for relative, text in files.items():
        (root / relative).parent.mkdir(parents=True, exist_ok=True)
        (root / relative).write_text(text)
    return output(files[name], root=root, name=name)


@pytest.mark.parametrize(
    "text",
    [
        "import compat\nprint(compat.cuda.is_available(), compat.cuda)\n",
        "import compat as c\nprint(c.cuda.is_available(), hasattr(c, 'cuda'), getattr(c, 'cuda').device_count())\n",
        "from compat import cuda\nprint(cuda.is_available())\n",
        "from compat import *\nprint(cuda.is_available())\n",
    ],
)
def test_the_name_of_the_module_stays(text: str, tmp_path: Path) -> None:
    assert migrated(tmp_path, {"compat.py": COMPAT, "main.py": text}) == text
    assert output(COMPAT) == "from torch_npu import npu as cuda\n"


def test_a_class_that_was_imported_keeps_its_name_too(tmp_path: Path) -> None:
    text = "import compat\ngraph = compat.CUDAGraph()\n"
    assert migrated(tmp_path, {"compat.py": "from torch.cuda import CUDAGraph\n", "main.py": text}) == text
    assert output("from torch.cuda import CUDAGraph\n") == "from torch_npu.npu import NPUGraph as CUDAGraph\n"


def test_torch_itself_that_was_handed_on_has_the_name_of_the_npu(tmp_path: Path) -> None:
    text = "import compat\nprint(compat.torch.cuda.is_available())\n"
    found = migrated(tmp_path, {"compat.py": "import torch\n", "main.py": text})
    assert "compat.torch.npu.is_available()" in found


def test_modules_that_import_each_other(tmp_path: Path) -> None:
    files = {
        "pkg/__init__.py": "from .a import *\nfrom . import b\n",
        "pkg/a.py": "from . import b\nfrom torch import cuda\n\ndef x():\n    return b.cuda.is_available()\n",
        "pkg/b.py": "from . import a\nfrom torch import cuda\n\ndef y():\n    return hasattr(a, 'cuda') and a.cuda.device_count()\n",
        "main.py": "import pkg\nfrom pkg import b\nprint(pkg.cuda.is_available(), b.cuda.is_available())\n",
    }
    assert migrated(tmp_path, files) == files["main.py"]
    assert migrated(tmp_path, files, "pkg/a.py") == files["pkg/a.py"].replace(
        "torch import cuda", "torch_npu import npu as cuda"
    )
    assert migrated(tmp_path, files, "pkg/b.py") == files["pkg/b.py"].replace(
        "torch import cuda", "torch_npu import npu as cuda"
    )
