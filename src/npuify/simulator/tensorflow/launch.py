"""``npuify simulate`` for a TensorFlow program: starts its ranks, connects them, says what a card would have got."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.language import commas, phrase, plural, sentences
from npuify.model import NpuifyError
from npuify.process.command import command
from npuify.process.environment import SHIM, let_begin, spare_amx
from npuify.process.python import answers, first_on_path, python_for
from npuify.simulator.messages import CPU_ONLY
from npuify.simulator.settings import PREFIX
from npuify.simulator.tensorflow.hub import Hub
from npuify.simulator.tensorflow.summary import summary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.simulator.settings import Settings

_OWN: Final = f"{PREFIX}_TENSORFLOW"
_THREADS: Final = "256"
"""Operators that may wait for other ranks at once: each that waits holds one of TensorFlow's threads."""

_QUESTION: Final = """
import importlib.util as u
try:
    import importlib.metadata as m
    known = [((d.metadata['Name'] or ''), d.version) for d in m.distributions()]
except ImportError:
    import pkg_resources as p
    known = [(d.project_name, d.version) for d in p.working_set]
names = ('tensorflow', 'tensorflow-cpu', 'tensorflow-gpu', 'intel-tensorflow')
found = [version for name, version in known if name.lower().replace('_', '-') in names]
print(found[0] if found else '')
print(' '.join(n for n in ('npu_bridge', 'npu_device') if u.find_spec(n)))
"""
"""Asked without importing TensorFlow, which takes seconds. Python 3.7 has no importlib.metadata."""


class Framework(NamedTuple):
    """The TensorFlow of a Python: its version, and the line of the adapter that fits."""

    version: str
    line: str

    @property
    def package(self) -> str:
        """The adapter's package."""
        return "npu_bridge" if self.line == "1" else "npu_device"

    @property
    def remark(self) -> str:
        """What differs from the version that the adapter is for; empty for that one."""
        if self.version.startswith(("1.15.", "2.6.")):
            return ""
        return phrase("The adapter is for 2.6.5: what a later version has, the card's does not.")


def installed(python: str, environ: dict[str, str]) -> tuple[str, str]:
    """The version of a Python's TensorFlow, and the names of the adapter's packages that it has.

    Raises:
        NpuifyError: it has no TensorFlow.
    """
    plain = {k: v for k, v in environ.items() if k != "PYTHONPATH" and not k.startswith(PREFIX)}
    paths = environ.get("PYTHONPATH", "").split(os.pathsep)
    plain["PYTHONPATH"] = os.pathsep.join(one for one in paths if one and Path(one) != SHIM)
    version, real = answers(python, _QUESTION, plain, 2)
    if not version:
        raise NpuifyError(
            phrase("{python} has no TensorFlow, which the programs need", python=python),
            advice="install tensorflow-cpu 1.15 (Python 3.7) or 2.6.5 (3.8, 3.9), or name a Python with --python",
        )
    return version, real


def check(python: str, environ: dict[str, str]) -> Framework:
    """The TensorFlow of a Python.

    Raises:
        NpuifyError: it has none, a version that the stand-in is not for, or a real adapter.
    """
    version, real = installed(python, environ)
    if real:
        raise NpuifyError(
            phrase(
                "{real} is installed for {python}, and npuify never takes the place of the real one",
                real=real,
                python=python,
            ),
            advice="simulate in an environment without it",
        )
    major, minor = (int(part) for part in version.split(".")[:2])
    if (major, minor) == (1, 15):
        return Framework(version, "1")
    if major == 2 and 6 <= minor <= 15:
        return Framework(version, "2")
    raise NpuifyError(
        phrase("the simulated adapter runs on TensorFlow 1.15 and 2.6 to 2.15, not on {version}", version=version),
        advice="install tensorflow-cpu 1.15 or 2.6.5, which the adapter is for",
    )


def run(
    settings: Settings,
    arguments: Sequence[str],
    *,
    module: bool = False,
    python: str = "",
    ranks: int = 0,
    record: str = "",
) -> int:
    """Run a program over the simulated adapter.

    Args:
        settings: number of cards and chip; the rest is PyTorch's.
        arguments: the program and its arguments.
        module: whether the program is a module.
        python: the Python to run it with.
        ranks: start it that often, with the environment of that many cards; 0: once, with the environment as it is.
        record: file for everything that a card would have got, as lines of JSON.

    Returns:
        The exit code of the first rank that failed, else 0.
    """
    interpreter = _python(python)
    what = command(arguments, interpreter, module)
    if ranks > settings.devices:
        raise NpuifyError(
            phrase("{ranks} ranks need as many NPUs, and there are {devices}", ranks=ranks, devices=settings.devices),
            advice="give --devices",
        )
    framework = check(interpreter, dict(os.environ))
    with tempfile.TemporaryDirectory(prefix="npuify-") as folder, contextlib.closing(_hub()) as hub:
        journal = Path(folder, "journal")
        journal.mkdir()
        environ = environment(settings, framework, hub.address, journal, dict(os.environ))
        if ranks > 1 or what[0] != interpreter or {"RANK_SIZE", "CM_WORKER_SIZE"} & set(environ):
            environ.setdefault("TF_NUM_INTEROP_THREADS", _THREADS)
        environ["PATH"] = first_on_path(interpreter, environ.get("PATH", ""))
        number = plural("{count} rank", "{count} ranks", ranks) if ranks else ""
        print(
            sentences(
                phrase(
                    "npuify: simulating {package} on TensorFlow {version} ({what}).",
                    package=framework.package,
                    version=framework.version,
                    what=commas(filter(None, (number, settings.soc))),
                ),
                framework.remark,
                CPU_ONLY,
            ),
            file=sys.stderr,
            flush=True,
        )
        each = [{**environ, **_rank(one, ranks, Path(folder))} for one in range(ranks)] or [environ]
        code = _wait(what, each, hub)
        rows = _rows(journal)
        if record:
            try:
                Path(record).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
            except OSError as error:
                raise NpuifyError(phrase("cannot be written: {error}", error=error), file=record) from error
        print(summary(rows, framework.package, failed=code != 0), file=sys.stderr, flush=True)
    return code


def environment(
    settings: Settings, framework: Framework, hub: str, journal: Path, base: dict[str, str]
) -> dict[str, str]:
    """``base`` and what makes a Python below it, and all its children, find the simulated adapter."""
    made = dict(base)
    made.update(
        {
            _OWN: framework.line,
            f"{PREFIX}_DEVICES": str(settings.devices),
            f"{PREFIX}_SOC": settings.soc,
            f"{PREFIX}_HUB": hub,
            f"{PREFIX}_JOURNAL": str(journal),
            "CUDA_VISIBLE_DEVICES": "",
        }
    )
    spare_amx(made)
    let_begin(made, _OWN)
    return made


def _hub() -> Hub:
    written = os.environ.get(f"{PREFIX}_PATIENCE", "")
    return Hub(patience=float(written)) if written.replace(".", "", 1).isdigit() and float(written) > 0 else Hub()


def _python(asked: str) -> str:
    """The Python for the program: the one asked for, this one if it has TensorFlow, else the first on the path."""
    if asked:
        return python_for(asked)
    if importlib.util.find_spec("tensorflow") is not None:
        return sys.executable
    return shutil.which("python") or shutil.which("python3") or sys.executable


def _rank(rank: int, ranks: int, folder: Path) -> dict[str, str]:
    """What a launch script sets for one card of one server."""
    table = folder / "rank_table.json"
    if not table.exists():
        devices = [
            {"device_id": str(one), "device_ip": f"192.168.100.{one + 1}", "rank_id": str(one)} for one in range(ranks)
        ]
        server = {"server_id": "127.0.0.1", "device": devices}
        written = {"status": "completed", "version": "1.0", "server_count": "1", "server_list": [server]}
        table.write_text(json.dumps(written), encoding="utf-8")
    return {
        "JOB_ID": "10086",
        "ASCEND_DEVICE_ID": str(rank),
        "DEVICE_ID": str(rank),
        "DEVICE_INDEX": str(rank),
        "RANK_ID": str(rank),
        "RANK_SIZE": str(ranks),
        **({"RANK_TABLE_FILE": str(table)} if ranks > 1 else {}),
    }


def _wait(what: list[str], environs: list[dict[str, str]], hub: Hub) -> int:
    """Start one process for each environment, and wait for all."""
    processes: list[subprocess.Popen[bytes]] = []
    failed = 0
    try:
        processes = [subprocess.Popen(what, env=environ) for environ in environs]
        running = dict(enumerate(processes))
        while running:
            for rank, process in list(running.items()):
                if process.poll() is not None:
                    del running[rank]
                    hub.ended(rank)
                    failed = failed or process.returncode
            if running:
                time.sleep(0.05)
    except KeyboardInterrupt:
        failed = failed or 130
    finally:
        for process in processes:
            if process.poll() is None:
                process.terminate()
        for process in processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
    return failed if failed >= 0 else 128 - failed


def _rows(journal: Path) -> list[dict[str, object]]:
    """What all processes wrote, in the order of time."""
    rows = []
    for file in sorted(journal.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError):
                rows.append(json.loads(line))
    return sorted(rows, key=lambda row: (row.get("time", 0), row.get("rank", 0)))
