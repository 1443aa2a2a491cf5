"""The script that gives a shell the environment of programs on NPUs."""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from npuify.knowledge.machine.launching import environment_settings
from npuify.language import phrase
from npuify.scripts.template import filled

if TYPE_CHECKING:
    from npuify.knowledge.machine.launching import EnvironmentSetting
    from npuify.model import Release

_NEW = ("/cann", "/ascend-toolkit", "/nnae")
_OLD = ("/ascend-toolkit", "/cann", "/nnae")
_ADAPTER = (
    "if [[ -n ${TFPLUGIN_INSTALL_PATH:-} ]]; then",
    '    export PYTHONPATH="$TFPLUGIN_INSTALL_PATH${PYTHONPATH:+:$PYTHONPATH}"',
    "fi",
)
_MOVED = Version("8.5")
"""The first CANN that is installed in a folder called ``cann``; facts of the vendor's installation guides."""


def environment_script(release: Release, *, nodes: int = 1, interface: str = "", tensorflow: bool = False) -> str:
    """``env.sh``: finds CANN in its old and new places, nnal and the driver, and sets what that release still needs.

    Args:
        nodes: machines that take part; some settings are only for several.
        interface: the host's network interface through which machines meet; empty: HCCL chooses.
        tensorflow: for the TensorFlow adapter, whose folder goes on the path of Python.
    """
    lines: list[str] = []
    if tensorflow:
        folder = phrase("The folder that the adapter's wheel was installed to, where it is not Python's own.")
        lines += [f"# {folder} [documented]", *_ADAPTER]
    offered: list[str] = []
    left_out: list[str] = []
    for row in environment_settings():
        if not row.holds(release.cann) or (tensorflow and "torch" in row.name.lower()):
            continue
        if row.when == "unset":
            if tensorflow and "torch" in row.message:
                continue
            left_out.append(
                "# "
                + phrase("Not set: {name}. {message}", name=row.name, message=row.message)
                + f" [{row.evidence.value}]"
            )
        elif row.when == "offered":
            offered += [f"# {_fact(row, tensorflow)}", f"# {_export(row)}"]
        elif row.when == "always" or nodes > 1:
            lines += [f"# {_fact(row, tensorflow)}", _export(row)]
    if interface:
        name = shlex.quote(interface)
        lines += ["# " + phrase("The host's network interface through which ranks find each other."), *_interface(name)]
    elif nodes > 1:
        offered += [
            "# "
            + phrase("The host's network interface, where the one that is chosen does not reach the other machines.")
        ]
        offered += [f"# {line}" for line in _interface("eth0")]
    text = "\n".join([*lines, "", *offered, "", *left_out])
    return filled(
        _template(),
        made_for=phrase("the TensorFlow adapter")
        if tensorflow
        else phrase(
            "torch_npu {torch_npu} (CANN {value})",
            torch_npu=release.torch_npu,
            value=release.cann or phrase("version unknown"),
        ),
        places=" ".join(_NEW if _is_new(release.cann) else _OLD),
        variables=text.strip(),
    )


@cache
def _template() -> str:
    return (Path(__file__).resolve().parent / "templates" / "env.sh").read_text(encoding="utf-8")


def _interface(name: str) -> list[str]:
    return [
        f"export HCCL_SOCKET_IFNAME=${{HCCL_SOCKET_IFNAME:-{name}}}",
        f"export GLOO_SOCKET_IFNAME=${{GLOO_SOCKET_IFNAME:-{name}}}",
    ]


def _fact(row: EnvironmentSetting, tensorflow: bool) -> str:
    sentences = re.split(r"(?<=[.;]) ", row.message)
    told = [one for one in sentences if not (tensorflow and re.search(r"torch|init_process_group", one))]
    text = phrase(row.message) if told == sentences else " ".join(told)
    return f"{text} [{row.evidence.value}]"


def _export(row: EnvironmentSetting) -> str:
    return f"export {row.name}=${{{row.name}:-{row.value}}}"


def _is_new(cann: str) -> bool:
    try:
        return Version(cann.replace(".RC", "rc")) >= _MOVED
    except InvalidVersion:
        return True
