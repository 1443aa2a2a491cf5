"""The environment script: where it looks for CANN, and what it sets for which release."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from npuify.knowledge import choose_release
from npuify.scripts.environment import environment_script
from tests.launch.conftest import needs_bash

if TYPE_CHECKING:
    from pathlib import Path

NEW, OLD = "2.13.0", "2.1.0.post17"


def read(
    folder: Path, *arguments: str, torch_npu: str = NEW, first: str = "", **more: str
) -> tuple[int, dict[str, str], str]:
    """Source the script in a strict shell: exit code, the environment afterwards, and what it said."""
    script = folder / "env.sh"
    script.write_text(environment_script(choose_release(torch_npu, None), nodes=2))
    command = f'{first}set -euo pipefail\nsource "$0" "$@"\necho "options $-" >&2\nenv -0'
    done = subprocess.run(
        ["bash", "-c", command, str(script), *arguments],
        env={"PATH": os.environ["PATH"], "HOME": str(folder / "home"), **more},
        capture_output=True,
        text=True,
        timeout=300,
    )
    pairs = (one.partition("=") for one in done.stdout.split("\0") if one)
    return done.returncode, {name: value for name, _, value in pairs}, done.stderr


def install(folder: Path, *places: str) -> Path:
    for place in places:
        script = folder / place / "set_env.sh"
        script.parent.mkdir(parents=True)
        # As the vendor's own: it reads variables that may be unset, and a command in it fails.
        script.write_text(
            f'export FROM="{place}$NOT_SET_ANYWHERE"\nfalse\nexport ASCEND_HOME_PATH="{folder}/{place}"\n'
        )
    return folder


pytestmark = needs_bash


@pytest.mark.parametrize(
    ("torch_npu", "places", "found"),
    [
        (NEW, ["cann", "ascend-toolkit"], "cann"),
        (OLD, ["cann", "ascend-toolkit"], "ascend-toolkit"),
        (NEW, ["ascend-toolkit"], "ascend-toolkit"),
        (OLD, ["nnae"], "nnae"),
    ],
)
def test_cann_is_found_in_new_and_old_places(tmp_path: Path, torch_npu: str, places: list[str], found: str) -> None:
    install(tmp_path / "home" / "Ascend", *places)
    code, environment, said = read(tmp_path, torch_npu=torch_npu)
    assert code == 0, said
    assert environment["FROM"] == found
    assert {"e", "u"} <= set(said.split("options ")[1]), "the shell is as strict as before"


def test_a_folder_can_be_named(tmp_path: Path) -> None:
    install(tmp_path / "home" / "Ascend", "cann")
    root = install(tmp_path / "my root", "ascend-toolkit", "nnal/atb")
    (root / "nnal/atb/set_env.sh").write_text("export ATB_HOME_PATH=here\n")
    for given in ([str(root)], [str(root / "ascend-toolkit")]):
        _, environment, said = read(tmp_path, *given)
        assert environment["FROM"] == "ascend-toolkit", said
        assert environment["ATB_HOME_PATH"] == "here"
    _, environment, _ = read(tmp_path, "", ASCEND_INSTALL_PATH=str(root))
    assert environment["FROM"] == "ascend-toolkit"


def test_what_is_loaded_already_stays(tmp_path: Path) -> None:
    install(tmp_path / "home" / "Ascend", "cann")
    code, environment, said = read(
        tmp_path, ASCEND_HOME_PATH=str(tmp_path), ASCEND_GLOBAL_LOG_LEVEL="1", HCCL_CONNECT_TIMEOUT="1200"
    )
    assert code == 0, said
    assert "FROM" not in environment
    assert (environment["ASCEND_GLOBAL_LOG_LEVEL"], environment["HCCL_CONNECT_TIMEOUT"]) == ("1", "1200")


def test_without_cann_it_says_where_it_looked(tmp_path: Path) -> None:
    code, environment, said = read(tmp_path)
    assert (code, environment) == (2, {})
    assert f"{tmp_path}/home/Ascend" in said
    code, environment, _ = read(tmp_path, first="trap 'exit 9' ERR; ")
    assert code != 0


def test_only_what_the_release_needs_is_set() -> None:
    def exported(torch_npu: str, **values: object) -> set[str]:
        text = environment_script(choose_release(torch_npu, None), **values)  # type: ignore[arg-type]
        return {line.split("=")[0].removeprefix("export ") for line in text.splitlines() if line.startswith("export ")}

    assert exported(NEW) == {"ASCEND_GLOBAL_LOG_LEVEL", "ASCEND_SLOG_PRINT_TO_STDOUT"}
    assert exported(NEW, nodes=2) - exported(NEW) == {"HCCL_CONNECT_TIMEOUT"}
    assert exported(NEW, nodes=2, interface="bond0") - exported(NEW, nodes=2) == {
        "HCCL_SOCKET_IFNAME",
        "GLOO_SOCKET_IFNAME",
    }


def test_the_next_cann_knows_another_name() -> None:
    from npuify.knowledge.machine.launching import environment_settings

    def always(cann: str) -> set[str]:
        return {row.name for row in environment_settings() if row.when == "always" and row.holds(cann)}

    assert "ASCEND_SLOG_PRINT_TO_STDOUT" in always("9.1.0")
    assert "ASCEND_LOG_PRINT_TO_STDOUT" in always("9.2.0")
    assert "HCCL_WHITELIST_DISABLE" in always("7.0.0") - always("8.0.RC1") - always("9.1.0")
