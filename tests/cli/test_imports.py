"""What the command line imports: it must answer at once, and a scan must not pay for what it does not use."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

# What typer carries: by its release click, shellingham, annotated_doc and typing_extensions at once; newer ones convert
# the arguments of a command (not of --help) with pydantic.
TYPER = {"typer", "click", "shellingham", "annotated_doc", "typing_extensions"}
CONVERSION = {"pydantic", "pydantic_core", "annotated_types", "typing_inspection"}


def imported(*arguments: str, code: int = 0) -> set[str]:
    """Every module that ``python -m npuify ARGUMENTS`` imports, by its full name."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "npuify", *arguments], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == code, done.stdout + done.stderr
    return {match[1] for match in re.finditer(r"^import time:.*\|\s*(\S+)$", done.stderr, re.MULTILINE)}


def third_party(modules: set[str]) -> set[str]:
    bare = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", ""], capture_output=True, text=True, timeout=300, check=True
    )
    # What the installation itself loads at every start (editable installs, coverage) is not ours.
    started = {match[1] for match in re.finditer(r"^import time:.*\|\s*(\S+)$", bare.stderr, re.MULTILINE)}
    tops = {name.partition(".")[0] for name in modules - started}
    # -X importtime also lists what was tried in vain: the standard library tries org.python.core, of Jython.
    standard = {*sys.stdlib_module_names, *sys.builtin_module_names, "org"}
    # Compiled packages load a helper with a digest for a name.
    return {name for name in tops - standard if not name.startswith("_") and not name.endswith("__mypyc")} - {"npuify"}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["scan", "--help"], ["knowledge", "--help"]])
def test_help_imports_typer_and_nothing_else(arguments: list[str]) -> None:
    modules = imported(*arguments)
    assert "typer" in modules
    assert third_party(modules) <= TYPER | (CONVERSION if len(arguments) > 1 else set())
    own = {name for name in modules if name.startswith("npuify.")} - {"npuify.version"}
    assert all(name.startswith("npuify.cli") for name in own), own


def test_help_imports_no_slow_part_of_the_standard_library() -> None:
    slow = {"asyncio", "multiprocessing", "concurrent.futures", "tomllib", "importlib.metadata", "unittest", "sqlite3"}
    assert not imported("--help") & slow


@pytest.mark.parametrize(
    ("content", "code"), [("import torch\nx = torch.cuda.device_count()\n", 1), ("print('no GPU here')\n", 0)]
)
def test_a_scan_in_a_pipe_imports_no_terminal_and_never_torch(tmp_path: Path, content: str, code: int) -> None:
    (tmp_path / "train.py").write_text(content)
    modules = imported("scan", "--jobs", "1", "--no-cache", str(tmp_path), code=code)
    assert third_party(modules) <= TYPER | CONVERSION | {
        "ahocorasick_rs",
        "msgspec",
        "packaging",
        "platformdirs",
        "tomli",
    }
    assert not {"torch", "torch_npu", "rich", "pathspec"} & third_party(modules)
