"""Which files may mention what a module binds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify.analysis.project import ProjectIndex
from npuify.analysis.texts.mentions import files_mentioning

if TYPE_CHECKING:
    from pathlib import Path

OWN = "def main(): pass\nmain()\n"
USERS = {
    "plain": {"use.py": "import train\ntrain.main()\n"},
    "taken": {"use.py": "from train import main\nmain()\n"},
    "in a package": {"pkg/__init__.py": "", "use.py": "from tools.train import main\nmain()\n"},
    "through another": {"other.py": "from train import main\n", "use.py": "from other import main\nmain()\n"},
    "through a star": {"other.py": "from train import *\n", "use.py": "from other import main\nmain()\n"},
    "through a package": {
        "pkg/__init__.py": "from train import main\n",
        "pkg/use.py": "from . import main\nmain()\n",
    },
    "by name as it runs": {"use.py": "import importlib\nimportlib.import_module('train').main()\n"},
    "as an object": {"other.py": "import train, use\nuse.go(train, 'main')\n", "use.py": "def go(m):\n    m.main()\n"},
}


def index(folder: Path, files: dict[str, str]) -> ProjectIndex:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return ProjectIndex(folder, sorted(files), [])


@pytest.mark.parametrize("users", USERS.values(), ids=USERS)
def test_users(users: dict[str, str], tmp_path: Path) -> None:
    files = {"train.py": OWN, **users}
    found = files_mentioning("main", "train.py", index(tmp_path, files))
    assert "train.py" in found
    assert [one for one in found if one.endswith("use.py")]


def test_own_functions_of_other_programs(tmp_path: Path) -> None:
    others = {f"program{n}.py": f"import util\n{OWN}\n# as train.py does\nx.main_process = 1\n" for n in range(3)}
    files = {"train.py": OWN, "util.py": "def helper(): pass\n", **others}
    assert files_mentioning("main", "train.py", index(tmp_path, files)) == ["train.py"]


def test_the_root_as_a_package(tmp_path: Path) -> None:
    files = {"__init__.py": OWN, "use.py": "from . import main\nmain()\n", "program.py": OWN}
    assert "use.py" in files_mentioning("main", "__init__.py", index(tmp_path, files))
