"""Chooses the tests of ``./check quick``: a plugin of pytest.

Of the files that differ from main (on main: from the last commit), those that are tests, and the tests that lie where a module of
``src/npuify`` lies: of ``src/npuify/report/html.py`` it is ``tests/report/test_html.py``, or, where there is none, all of
``tests/report``. Of these, all but the slow ones; of all others, those that are marked as ``core``: few, fast, and each of them looks at much.
"""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).resolve().parents[1]
_VARIABLE = "NPUIFY_TESTS_CHANGED"


def pytest_configure() -> None:
    """Ask git once for all workers."""
    if _VARIABLE not in os.environ:
        os.environ[_VARIABLE] = "\n".join(sorted(tests_of(changed_files())))


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out files with nothing of interest: importing them is most of the time."""
    if collection_path.name.startswith("test_") and collection_path.suffix == ".py":
        return not _chosen(collection_path) and "mark.core" not in collection_path.read_text("utf-8")
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of the files that are left, the tests to run."""
    wanted = [
        item
        for item in items
        if item.get_closest_marker("core") or (_chosen(item.path) and not item.get_closest_marker("slow"))
    ]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(wanted)])
    items[:] = wanted


def changed_files() -> list[str]:
    """Files that differ from where this branch left main, new ones among them."""
    base = next(filter(None, (_git("merge-base", "HEAD", main) for main in ("main", "origin/main"))), "HEAD")
    return [*_git("diff", "--name-only", base).splitlines(), *_git("ls-files", "-o", "--exclude-standard").splitlines()]


def tests_of(files: list[str]) -> set[str]:
    """Files and folders of tests, from the root."""
    chosen = set()
    for file in files:
        parts = Path(file).parts
        if parts[0] == "tests" and Path(file).name.startswith("test_"):
            chosen.add(file)
        elif parts[:2] == ("src", "npuify") and file.endswith(".py"):
            place = Path("tests", *parts[2:-1])
            one = place / f"test_{parts[-1]}"
            while not (ROOT / place).is_dir():
                place = place.parent
            if (ROOT / one).is_file():
                chosen.add(one.as_posix())
            elif place != Path("tests"):
                chosen.add(place.as_posix())
    return {one for one in chosen if (ROOT / one).exists()}


@cache
def _chosen(path: Path) -> bool:
    chosen = [ROOT / one for one in os.environ[_VARIABLE].splitlines()]
    return any(one == path or one in path.parents for one in chosen)


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
