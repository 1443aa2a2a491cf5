"""What is known of one project's move: the scan of today, and the reports that earlier runs of npuify left.

Nothing is assumed to have happened: what has no report did not happen.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from npuify.engine.scan import scan as scan_paths
from npuify.handover.checklist.results import VerificationResult, read_results
from npuify.language import phrase
from npuify.migration import migrate
from npuify.model import MigrationResult, NpuifyError, ScanResult
from npuify.options import Options  # noqa: TC001 - a field of a msgspec type
from npuify.report.doctor import Report as DoctorReport
from npuify.report.document import Migration, Scan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Progress = Callable[[int, int], None]

REPORT_FOLDER = "npuify-report"
_MIGRATION = "findings.json"
_DOCTOR = "doctor.json"


class Made(msgspec.Struct, frozen=True, order=True):
    """One edit, at a line of the file before the migration."""

    file: str
    line: int
    code: str
    name: str
    before: str
    after: str
    message: str


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the checklist and the guide are written from."""

    root: Path
    """The project as it lies here."""
    name: str
    """Of the project: its folder's."""
    options: Options
    """Those of the scan."""
    scan: ScanResult
    """Of the project as it is now."""
    migration: Migration | None
    """The report that ``npuify migrate`` left in it; None where there is none."""
    planned: MigrationResult | None
    """What a migration would do now, where none was done; with its diff."""
    source: Path | None
    """The project before its migration, where it is still there."""
    doctor: DoctorReport | None
    doctor_file: str
    """Where the doctor's report was read."""
    results: tuple[VerificationResult, ...]
    """What verifications saw."""

    @property
    def changes(self) -> tuple[Made, ...]:
        """The edits that were made, or would be."""
        if self.migration is not None:
            return tuple(
                Made(one.file, one.line, one.code, one.name, one.before, one.after, one.message)
                for one in self.migration.changes
            )
        planned = self.planned.changes if self.planned is not None else ()
        return tuple(
            Made(one.file, one.start.line, one.code, one.name, one.before, one.after, one.message) for one in planned
        )


def read_record(
    project: Path,
    options: Options,
    *,
    source: Path | None = None,
    doctor: Path | None = None,
    results: Sequence[Path] = (),
    progress: Progress | None = None,
    preparing: Progress | None = None,
) -> Record:
    """Scan ``project`` and read what earlier runs left.

    Args:
        project: a migrated project, or one that still has to be.
        options: for the scan; the release and the style of the migration's report hold where none is asked for.
        source: the project before its migration; None takes the folder that the report names, if it is there.
        doctor: what ``npuify doctor --format json`` wrote; None takes ``npuify-report/doctor.json``, if there is one.
        results: files and folders with what ``npuify verify`` wrote, besides those in ``npuify-report``.
        progress: called with the number of files done and of files to do.
        preparing: the same while files are read, before any is looked at; 0 of 0 while they are sought.

    Raises:
        NpuifyError: the project is no folder, or a report that is named cannot be read.
    """
    if not project.is_dir():
        raise NpuifyError("is not a project folder", file=str(project))
    migration = _migration(project / REPORT_FOLDER / _MIGRATION)
    if migration is not None:
        options = msgspec.structs.replace(
            options, torch_npu=options.torch_npu or migration.release.torch_npu, style=migration.style
        )
    planned = None
    if migration is None:
        planned = migrate(project, None, options, mode="diff", progress=progress, preparing=preparing)
        scan = planned.scan
    else:
        scan = scan_paths([project], options, progress=progress, preparing=preparing)
        if scan.release.torch_npu == migration.release.torch_npu:
            # Its report says why this release was chosen.
            scan = msgspec.structs.replace(scan, release=migration.release)
    report, report_file = _doctor(project, doctor)
    return Record(
        root=project,
        name=_name(project, migration),
        options=options,
        scan=scan,
        migration=migration,
        planned=planned,
        source=_source(project, source, migration),
        doctor=report,
        doctor_file=report_file,
        results=read_results([project / REPORT_FOLDER, *results], required=results),
    )


def _migration(path: Path) -> Migration | None:
    if not path.is_file():
        return None
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Scan | Migration)
    except (OSError, msgspec.MsgspecError) as error:
        raise NpuifyError(
            phrase("is not a migration report of this npuify: {error}", error=error),
            advice="migrate again, or move it out of the way",
            file=str(path),
        ) from error
    return found if isinstance(found, Migration) else None


def _doctor(project: Path, named: Path | None) -> tuple[DoctorReport | None, str]:
    path = named or project / REPORT_FOLDER / _DOCTOR
    if named is None and not path.is_file():
        return None, ""
    try:
        return msgspec.json.decode(path.read_bytes(), type=DoctorReport), path.name
    except (OSError, msgspec.MsgspecError) as error:
        raise NpuifyError(
            phrase("is not a doctor report: {error}", error=error),
            advice=phrase("npuify doctor --format json --output {name}", name=path.name),
            file=str(path),
        ) from error


def _source(project: Path, named: Path | None, migration: Migration | None) -> Path | None:
    if named is not None:
        if not named.is_dir():
            raise NpuifyError("is not a project folder", file=str(named))
        return named
    if migration is None or not migration.destination or migration.destination == migration.root:
        return None
    source = Path(migration.root)
    return source if source.is_dir() and source.resolve() != project.resolve() else None


def _name(project: Path, migration: Migration | None) -> str:
    """The source's name says more than that of a copy in ``out``."""
    if migration is not None and migration.destination not in ("", migration.root):
        return Path(migration.root).name or project.absolute().name
    return project.absolute().name
