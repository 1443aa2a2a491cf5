"""``python -m tools.forms --torch-npu VERSION``, from the root of the checkout.

Runs the forms of rules that the tables lack, or have otherwise, and writes the tables.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npuify.selftest.areas.form_rows import rows
from tools.real_torch_npu.machine import prepare
from tools.real_torch_npu.packages import PackageError
from tools.real_torch_npu.stand_ins import StandInError

from . import table
from .extract import cases, documented

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.real_torch_npu.machine import Machine

    from .extract import Form

INSIDE = Path(__file__).parent / "inside.py"
DEVICES = "8"
_AT_ONCE = 60
"""Forms after which what is known is written down."""


def main() -> int:
    """Run the command that the arguments name, and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.forms", description=__doc__)
    parser.add_argument("--torch-npu", default="2.13.0", metavar="VERSION", help="the exact release")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "npuify-real-torch-npu"
    parser.add_argument("--work", type=Path, default=cache, help="where packages are laid out; used again")
    parser.add_argument("--all", action="store_true", help="everything, what is recorded already, too")
    parser.add_argument(
        "--again", metavar="NAME", help="also the forms whose names begin so, although they are recorded"
    )
    parser.add_argument("--stopped", action="store_true", help="also those of which a statement was stopped")
    parser.add_argument("--cases", action="store_true", help="the test cases of rules, too, which takes half an hour")
    parser.add_argument(
        "--show", metavar="NAME", help="run the forms whose names begin so, and only show what became of them"
    )
    given = parser.parse_args()
    work = given.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    try:
        machine = prepare(given.torch_npu, wheels=work / "wheels", work=work)
    except (PackageError, StandInError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    release = machine.torch_npu.version
    tables = [
        (table.DOCUMENTED, list(documented())),
        (table.ROWS, list(rows(release))),
        (table.CASES, list(cases())),
    ]
    if given.show:
        chosen = [f for _, forms in tables for f in forms if f.is_python and f.name.startswith(given.show)]
        real, simulated = _both(chosen, machine)
        shown = {form.name: table.row(form, real[form.name], simulated[form.name]) for form in chosen}
        print(json.dumps(shown, indent=1))
        return 0
    for folder, forms in tables[: 3 if given.cases or given.all else 2]:
        _renew(
            folder / f"{release}.json", forms, machine, again="" if given.all else given.again, stopped=given.stopped
        )
    return 0


def _renew(path: Path, forms: Sequence[Form], machine: Machine, *, again: str | None, stopped: bool) -> None:
    content = table.read(path)
    content |= {
        "torch_npu": machine.torch_npu.version,
        "wheel": machine.torch_npu.path.name,
        "sha256": machine.torch_npu.sha256,
        "torch": machine.torch.version,
    }
    names = {form.name for form in forms}
    rows = {name: row for name, row in content.pop("forms").items() if name in names}
    content["forms"] = rows
    lacking = table.unproven(forms, content)
    if stopped:
        lacking += [form for form in forms if form.name in rows and table.is_stopped(rows[form.name])]
    waiting = [form for form in forms if form in lacking or (again is not None and form.name.startswith(again))]
    for form in waiting:
        if not form.is_python:
            rows[form.name] = {"form": form.digest, "not run": form.file}
    waiting = [form for form in waiting if form.is_python]
    for start in range(0, len(waiting), _AT_ONCE):
        some = waiting[start : start + _AT_ONCE]
        print(f"{path.name}: {start} of {len(waiting)} forms", file=sys.stderr)
        real, simulated = _both(some, machine)
        rows.update({form.name: table.row(form, real[form.name], simulated[form.name]) for form in some})
        table.write(path, content)
    table.write(path, content)


def _both(forms: Sequence[Form], machine: Machine) -> tuple[dict[str, Any], dict[str, Any]]:
    jobs = {form.name: form.job() for form in forms}
    environment = machine.environment(NPUIFY_STAND_IN_DEVICES=DEVICES, TASK_QUEUE_ENABLE="0")
    real = _run(jobs, [str(machine.python)], environment, "real")
    simulate = [sys.executable, "-m", "npuify", "simulate", "--torch-npu", machine.torch_npu.version]
    simulate += ["--devices", DEVICES, "--policy", "off"]
    return real, _run(jobs, simulate, dict(os.environ), "simulated")


def _run(jobs: dict[str, Any], start: list[str], environment: dict[str, str], where: str) -> dict[str, Any]:
    if not jobs:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder, "jobs.json"), Path(folder, "found.json")
        source.write_text(json.dumps(jobs), encoding="utf-8")
        command = [*start, str(INSIDE), str(source), str(output), where]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if not output.is_file():
            raise PackageError(f"nothing came back from {where} torch_npu: {done.stderr[-1000:]}")
        return dict(json.loads(output.read_text(encoding="utf-8")))


if __name__ == "__main__":
    sys.exit(main())
