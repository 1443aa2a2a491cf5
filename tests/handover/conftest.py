"""Examples, migrated once for all tests of this part."""

from __future__ import annotations

from pathlib import Path

import pytest

import npuify
from npuify.handover.checklist.record import Record, read_record
from npuify.options import Options

EXAMPLES = Path(__file__).parents[2] / "examples"
PROJECTS = sorted(path.parent.name for path in EXAMPLES.glob("*/requirements.txt"))
OPTIONS = Options(jobs=1, cache=False)


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every example, migrated with all edits: name -> folder."""
    folder = tmp_path_factory.mktemp("handed-on")
    for name in PROJECTS:
        npuify.migrate(EXAMPLES / name, folder / name, Options(unsafe=True, jobs=1, cache=False))
    return {name: folder / name for name in PROJECTS}


@pytest.fixture(scope="session")
def records(migrated: dict[str, Path]) -> dict[str, Record]:
    """What is known of each."""
    return {name: read_record(folder, OPTIONS) for name, folder in migrated.items()}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small project that is not migrated."""
    root = tmp_path / "my_project"
    root.mkdir()
    (root / "train.py").write_text(
        'import numpy\nimport torch\n\nmodel = torch.nn.Linear(2, 2).cuda()\nprint("done")\n'
    )
    return root
