"""The real torch_npu, imported here, answers what the shipped live tables say.

Downloads about 300 MB the first time and takes minutes, so it runs only where it is asked for:
``NPUIFY_REAL_TORCH_NPU=2.13.0 pytest tests/tools/test_real_package.py``. NPUIFY_REAL_WORK names the folder to keep files in.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from npuify.knowledge.release.imported import load_live, shipped_live_tables

if TYPE_CHECKING:
    from tools.real_torch_npu.machine import Machine

    from npuify.knowledge.release.imported import LiveFile

pytestmark = [pytest.mark.network, pytest.mark.slow]


@pytest.fixture(scope="module", name="machine")
def _machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    version = os.environ.get("NPUIFY_REAL_TORCH_NPU")
    if not version:
        pytest.skip(
            "asks the real package, a download of 300 MB: set NPUIFY_REAL_TORCH_NPU to its version, e.g. 2.13.0"
        )
    if version not in shipped_live_tables():
        pytest.skip(
            f"there is no live table of {version} to compare with; there are {', '.join(shipped_live_tables())}"
        )
    from tools.real_torch_npu.machine import prepare
    from tools.real_torch_npu.packages import PackageError

    given = os.environ.get("NPUIFY_REAL_WORK")
    work = Path(given) if given else tmp_path_factory.mktemp("real")
    try:
        return prepare(version, wheels=work / "wheels", work=work)
    except PackageError as error:
        pytest.skip(f"the package cannot be had: {error}")


@pytest.fixture(scope="module", name="live")
def _live(machine: Machine) -> LiveFile:
    live = load_live(machine.torch_npu.version)
    assert live is not None
    if machine.torch_npu.sha256 != live.torch_npu.sha256:
        pytest.skip(f"the table was made from {live.torch_npu.wheel}, and here is {machine.torch_npu.path.name}")
    assert platform.machine() == live.machine
    return live


def test_names(machine: Machine, live: LiveFile) -> None:
    found = machine.probe("names")
    assert found["names"] == live.names
    assert found["not_imported"] == live.not_imported


def test_dispatch(machine: Machine, live: LiveFile) -> None:
    found = machine.probe("dispatch")
    assert found["operators"] == live.operators
    assert found["schemas"] == live.schemas
    assert found["keys"] == live.keys


def test_patches(machine: Machine, live: LiveFile) -> None:
    found = machine.probe("patches")
    assert found["by_import"] == live.by_import
    assert found["by_transfer_to_npu"] == live.by_transfer_to_npu
