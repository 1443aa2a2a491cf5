"""``npuify skill``."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from npuify.cli.common.guard import FINDINGS_REMAIN, NOTHING_LEFT
from npuify.cli.common.options import JobsOption, StyleOption, TfAdapterOption, TorchNpuOption, UnsafeOption  # noqa: TC001 - typer reads them
from npuify.cli.handover.record import DoctorOption, ResultsOption, SourceOption, record
from npuify.language import commas, phrase, spoken


class Language(str, Enum):
    """As ``npuify.handover.skill.texts.LANGUAGES``."""

    EN = "en"
    ZH = "zh"


def skill(
    project: Annotated[
        Path | None,
        typer.Argument(metavar="PROJECT", help="The project, migrated or not."),
    ] = None,
    destination: Annotated[
        Path | None,
        typer.Option(
            "-o", "--destination", metavar="DIR", help="Write the skill to DIR/NAME; or specify the file, SKILL.md."
        ),
    ] = None,
    language: Annotated[
        Language | None, typer.Option("--language", help="English or Chinese; default: the language of npuify.")
    ] = None,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="The skill's name; default: from the project's.")
    ] = "",
    commands: Annotated[
        list[str] | None,
        typer.Option(
            "--command", metavar="COMMAND", help="A command that starts the migrated project. Can be repeated."
        ),
    ] = None,
    source: SourceOption = None,
    doctor: DoctorOption = None,
    results: ResultsOption = None,
    torch_npu: TorchNpuOption = None,
    tf_adapter: TfAdapterOption = None,
    style: StyleOption = None,
    unsafe: UnsafeOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing skill.")] = False,
    validate: Annotated[
        Path | None, typer.Option("--validate", metavar="PATH", help="Only check a skill: its folder or SKILL.md.")
    ] = None,
    jobs: JobsOption = None,
) -> int:
    """Write a guide, for people and coding agents, for repeating this project's migration.

    It is based on the scan, the migration's report, the patch from the source, the doctor's report and the
    verifications that were actually run; anything that was not run is marked as such. With --validate, exits with 1 if
    something is wrong.
    """
    from npuify.model import NpuifyError

    if validate is not None:
        if project is not None or destination is not None:
            raise NpuifyError("--validate checks an existing skill: no PROJECT, no -o")
        return _validate(validate)
    if project is None or destination is None:
        raise NpuifyError("specify the project and the destination", advice="npuify skill PROJECT -o DIR")
    from npuify.handover.skill.write import write_skill

    known = record(
        project,
        source=source,
        doctor=doctor,
        results=results,
        torch_npu=torch_npu,
        tf_adapter=tf_adapter,
        style=style,
        unsafe=unsafe,
        jobs=jobs,
    )
    written = write_skill(
        known,
        destination,
        name=name,
        language=language.value if language else spoken(),
        commands=commands or (),
        force=force,
    )
    typer.echo(phrase("Written to {folder}: {files}", folder=written.folder, files=commas(written.files)))
    if not commands:
        typer.echo(
            phrase("No step starts the project: specify one with --command, as you use it on the migrated project.")
        )
    return _validate(written.folder / "SKILL.md")


def _validate(path: Path) -> int:
    from npuify.handover.skill.validate import validate

    faults = validate(path)
    for fault in faults:
        place = f"{fault.file}:{fault.line}" if fault.line else fault.file
        typer.echo(
            phrase("{what}: {message}", what=phrase(fault.severity), message=f"{place}: {phrase(fault.message)}")
        )
    errors = sum(fault.severity == "error" for fault in faults)
    told = phrase("{errors} errors, {warnings} warnings", errors=errors, warnings=len(faults) - errors)
    typer.echo(phrase("{path}: {told}", path=path, told=told if faults else phrase("no fault")))
    return FINDINGS_REMAIN if errors else NOTHING_LEFT
