"""The doctor at work: ask, judge, and put the results in order."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from npuify.language import mark, phrase
from npuify.model import Evidence, NpuifyError
from npuify.report.doctor import ORDER, CardLine, Check, Machine, Report, Result, Status, worst_of
from npuify.version import __version__

from .capture import Recorder, encode_capture, read_capture
from .checks import all_checks
from .facts import Facts, gather
from .machine import Here, Sight

if TYPE_CHECKING:
    from collections.abc import Mapping


def check_environment(
    *,
    project: Path | None = None,
    capture: Path | None = None,
    captured: Path | None = None,
    root: Path | None = None,
    python: str | None = None,
    smoke: bool = True,
    environment: Mapping[str, str] | None = None,
) -> Report:
    """Say whether a machine can run programs on its NPUs, and what to do where it cannot. Nothing is changed on it.

    Args:
        project: also check what this project asks for.
        capture: write all that was read into this file, secrets and names of users removed.
        captured: judge the machine in this capture instead of this one.
        root: judge the files below this folder instead of this machine's; commands are not run then.
        python: the interpreter that programs will run with; None for the one that runs npuify.
        smoke: on this machine, also run small programs on the cards, each in a process with a time limit.
        environment: of the shell to judge; None for that of this process.

    Raises:
        NpuifyError: a file cannot be read or written, or the project is not there.
    """
    if project is not None and not project.exists():
        raise NpuifyError("does not exist", file=str(project))
    machine: Sight
    if captured is not None:
        machine, source = read_capture(captured).machine(), str(captured)
    elif root is not None:
        if not root.is_dir():
            raise NpuifyError("is not a folder", file=str(root))
        # The variables of this shell say nothing about another machine's files.
        machine, source = Here(root, environment or {}), str(root)
    else:
        machine, source = Here(environment=environment), mark("this machine")
    recorder = Recorder(machine)
    live = captured is None and root is None
    facts = gather(recorder, python, live=live, files_only=root is not None and not environment)
    scanned = None
    if project is not None:
        from .project import paddle_required, scanned_for, tensorflow_line
        from .project_vllm import uses_vllm

        scanned = scanned_for(facts, project)
        facts = msgspec.structs.replace(
            facts,
            tensorflow=tensorflow_line(scanned),
            paddle=paddle_required(scanned, project),
            vllm=uses_vllm(project),
        )
    results, checks = judge(facts)
    if project is not None and scanned is not None:
        from .project import judge_project

        more = judge_project(facts, project, scanned)
        results += more
        checks += _outcomes(("project.requirements", "project.vllm", "project.bfloat16", "project.findings"), more)
    if (
        live
        and smoke
        and facts.smi.cards
        and not (facts.tensorflow or facts.paddle)
        and worst_of(results) is not Status.ERROR
    ):
        from .smoke import run_smoke

        more = run_smoke(facts, python)
        results += more
        checks += tuple(Check(name=one.check, title=_SMOKE, status=one.status) for one in more)
    if capture is not None:
        from npuify.rewrite.tree import replace_files

        taken = datetime.now(timezone.utc).isoformat(timespec="seconds")
        replace_files(
            capture.absolute().parent, {capture.name: encode_capture(recorder.capture(tool=__version__, taken=taken))}
        )
    return Report(
        tool=__version__,
        source=source,
        project=str(project) if project is not None else "",
        machine=_in_short(facts),
        worst=worst_of(results),
        checks=checks,
        results=tuple(sorted(results, key=lambda one: (-ORDER[one.status], one.check))),
    )


_SMOKE = "A small program runs on a card"


def judge(facts: Facts) -> tuple[tuple[Result, ...], tuple[Check, ...]]:
    """Run every check; one that follows from an error is skipped, so that one fault is told once."""
    results: list[Result] = []
    checks: list[Check] = []
    failed: set[str] = set()
    for one in all_checks():
        if one.live and facts.files_only:
            checks.append(Check(name=one.name, title=one.title, status=Status.SKIPPED))
            continue
        cause = next((name for name in one.after if name in failed), "")
        if cause:
            failed.add(one.name)
            checks.append(Check(name=one.name, title=one.title, status=Status.SKIPPED))
            continue
        try:
            found = tuple(one.judge(facts))
        except Exception as error:
            # A strange machine must not keep the other checks from being made.
            found = (
                Result(
                    check=one.name,
                    status=Status.SKIPPED,
                    message=phrase("this check itself failed: {name}: {error}", name=type(error).__name__, error=error),
                    evidence=Evidence.ASSUMED,
                ),
            )
        results += found
        worst = max((item.status for item in found), key=ORDER.__getitem__, default=Status.OK)
        if worst is Status.OK and one.needs is not None and not one.needs(facts):
            worst = Status.SKIPPED
        if worst is Status.ERROR or any(item.status is Status.SKIPPED for item in found):
            failed.add(one.name)
        checks.append(Check(name=one.name, title=one.title, status=worst))
    return tuple(results), tuple(checks)


def _outcomes(names: tuple[str, ...], results: tuple[Result, ...]) -> tuple[Check, ...]:
    titles = {
        "project.requirements": "The project's requirements are met",
        "project.vllm": "vLLM, its plug-in and what they stand on are one set",
        "project.bfloat16": "The project's data types suit the chip",
        "project.findings": "The project is ready for the NPU",
    }
    return tuple(
        Check(
            name=name,
            title=titles[name],
            status=max((one.status for one in results if one.check == name), key=ORDER.__getitem__, default=Status.OK),
        )
        for name in names
    )


def _in_short(facts: Facts) -> Machine:
    cards = tuple(
        CardLine(
            npu=card.npu,
            chip=card.chip,
            name=card.name,
            product=facts.chip.product if facts.chip is not None else "",
            health=card.health,
            memory_mib=max(0, card.memory[1]),
            used_mib=max(0, card.memory[0]),
        )
        for card in facts.smi.cards
    )
    active = facts.cann.active
    packages = facts.python.packages
    return Machine(
        system=re.sub(r"\s+", " ", facts.host.system),
        architecture=facts.host.architecture,
        container=facts.host.container,
        cards=cards,
        driver=facts.driver.version or facts.smi.driver,
        firmware=facts.driver.firmware,
        cann=active.version if active is not None else "",
        python=facts.python.version,
        torch=packages.get("torch", ""),
        torch_npu=packages.get("torch-npu", ""),
    )
