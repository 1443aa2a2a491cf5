"""The simulated machine's ``npu-smi``: a shell script that lists its cards, and says that they are simulated.

Power, temperature and addresses are ``NA``, as there is nothing to measure.
Source of the layout: tables of ``npu-smi info`` on Atlas A2, which :mod:`npuify.doctor.probes.npu_smi` reads.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from npuify.simulator.device.build import cache_folder

if TYPE_CHECKING:
    from npuify.simulator.settings import Settings

_LINE: Final = f"+{'-' * 27}+{'-' * 15}+{'-' * 52}+"
_WIDE: Final = f"+{'-' * 96}+"
_SCRIPT: Final = """#!/bin/sh
# The npu-smi of a machine that npuify simulates.
case "$*" in
"info" | "info watch"*) cat <<'END'
{table}
END
;;
"info -l") cat <<'END'
{cards}
END
;;
"info -m") cat <<'END'
{chips}
END
;;
"-v" | "--version") echo "npu-smi version: simulated" ;;
*) echo "npu-smi (simulated by npuify): answers info, info -l, info -m and -v; nothing is known for: $*" >&2 ;;
esac
exit 0
"""


def on_path(settings: Settings, path: str) -> str:
    """``path`` with the stand-in first; as it was, where it cannot be written.

    It lies in the cache folder, once for each kind of machine.
    """
    text = script(settings).encode()
    name = re.sub(r"\W", "_", f"{settings.soc}_{settings.devices}_{settings.memory >> 20}")
    folder = Path(cache_folder(settings.cache)) / "npu-smi" / name
    wanted = folder / "npu-smi"
    try:
        if not wanted.is_file() or wanted.read_bytes() != text:
            folder.mkdir(parents=True, exist_ok=True)
            handle, made = tempfile.mkstemp(dir=folder)
            with os.fdopen(handle, "wb") as stream:
                stream.write(text)
            Path(made).chmod(0o755)
            Path(made).replace(wanted)
    except OSError:
        return path
    return os.pathsep.join(filter(None, (str(folder.absolute()), path)))


def script(settings: Settings) -> str:
    """The shell script for a machine."""
    name = settings.soc.removeprefix("Ascend")
    numbers = range(settings.devices)
    cards = [f"\tTotal Count                    : {settings.devices}"]
    for number in numbers:
        cards += ["", f"\tNPU ID                         : {number}", "\tChip Count                     : 1"]
    chips = ["\tNPU ID                         Chip ID                        Chip Logic ID                  Chip Name"]
    chips += [f"\t{number:<31}{0:<31}{number:<31}{settings.soc}" for number in numbers]
    return _SCRIPT.format(
        table=_table(name, settings.devices, settings.memory >> 20), cards="\n".join(cards), chips="\n".join(chips)
    )


def _table(name: str, devices: int, mebibytes: int) -> str:
    head = f"| {'npu-smi simulated':<33}Version: {'simulated':<53}|"
    lines = [
        _WIDE,
        head,
        _LINE,
        _row("NPU   Name", "Health", f"{'Power(W)':<12}{'Temp(C)':<18}Hugepages-Usage(page)"),
        _row("Chip", "Bus-Id", f"{'AICore(%)':<12}{'Memory-Usage(MB)':<18}HBM-Usage(MB)"),
        _LINE.replace("-", "="),
    ]
    for number in range(devices):
        lines += [
            _row(f"{number:<6}{name}", "OK", f"{'NA':<12}{'NA':<18}0    / 0"),
            _row("0", "NA", f"{'0':<12}{'0    / 0':<18}0    / {mebibytes}"),
            _LINE.replace("-", "=") if number < devices - 1 else _LINE,
        ]
    said = "Simulated by npuify on this host's CPU: there is no NPU."
    return "\n".join([*lines, f"| {said:<95}|", _WIDE])


def _row(first: str, second: str, third: str) -> str:
    return f"| {first:<26}| {second:<14}| {third:<51}|"
