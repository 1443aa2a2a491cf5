"""What npuify tells: the same result as text, JSON, JSON lines, SARIF, GitHub annotations, GitLab code
quality, JUnit, Markdown or HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from npuify.language import phrase, speaking
from npuify.model import NpuifyError, ScanResult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import MigrationResult

FORMATS: Final = ("text", "json", "jsonl", "sarif", "github", "gitlab", "junit", "markdown", "html")

IN_PIECES: Final = ("json", "jsonl", "sarif")
"""Those that are made piece by piece."""

__all__ = ["FORMATS", "json_schema", "pieces", "render_migration", "render_scan", "report_files", "schema_text"]


def render_scan(result: ScanResult, format: str = "text", *, ledger: bool = False) -> str:
    """What a scan found, in one of ``FORMATS``; ends in a line end.

    Args:
        format: one of them.
        ledger: also list the places that were left alone, and why; in JSON, every place that concerns CUDA.

    Raises:
        NpuifyError: there is no such format.
    """
    with speaking(result.language):
        return _render(result, format, ledger=ledger)


def render_migration(result: MigrationResult, format: str = "text") -> str:
    """What a migration did and left, in one of ``FORMATS``; ends in a line end.

    The findings are those that are left, and their places are those of the migrated files.

    Raises:
        NpuifyError: there is no such format.
    """
    with speaking(result.scan.language):
        return _render(result, format)


def pieces(result: ScanResult | MigrationResult, format: str, *, ledger: bool = False) -> Iterator[bytes]:
    """What :func:`render_scan` and :func:`render_migration` give, piece by piece, in UTF-8.

    JSON, JSON lines and SARIF are made while they are written, so that many findings take little memory; what goes
    wrong with any of them goes wrong before the first piece.

    Raises:
        NpuifyError: there is no such format.
    """
    language = result.language if isinstance(result, ScanResult) else result.scan.language
    waiting = _pieces(result, format, ledger=ledger)
    while True:
        # Between two pieces the caller speaks its own language.
        with speaking(language):
            piece = next(waiting, None)
        if piece is None:
            return
        yield piece


def report_files(result: MigrationResult) -> dict[str, bytes]:
    """The files of ``npuify-report/`` by path below the migrated project: findings, changes, and two pages to read."""
    from npuify.report.changes import changes_csv

    return {
        "npuify-report/findings.json": render_migration(result, "json").encode("utf-8"),
        "npuify-report/changes.csv": changes_csv(result.changes).encode("utf-8"),
        "npuify-report/report.md": render_migration(result, "markdown").encode("utf-8"),
        "npuify-report/report.html": render_migration(result, "html").encode("utf-8"),
    }


def json_schema() -> str:
    """The JSON Schema (draft 2020-12) of what ``--format json`` writes; ``$defs.Line`` is that of ``jsonl`` lines."""
    from npuify.report.document import schema

    return schema()


def schema_text(kind: type, command: str, title: str, version: int) -> str:
    """The JSON Schema (draft 2020-12) of what a command writes with --format json, which is one ``kind``."""
    import msgspec

    from npuify.report.schemas import schema_json

    (found,), definitions = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:npuify:{command}:{version}",
        "title": title,
        "description": phrase("The output of `npuify {command}` with --format json.", command=command),
        **found,
        "$defs": definitions,
    }
    return schema_json(whole)


def _pieces(result: ScanResult | MigrationResult, format: str, *, ledger: bool) -> Iterator[bytes]:
    if format == "json":
        from npuify.report.document import json_in_pieces

        yield from json_in_pieces(result, ledger=ledger)
    elif format == "jsonl":
        from npuify.report.document import lines_in_pieces

        yield from lines_in_pieces(result, ledger=ledger)
    elif format == "sarif":
        from npuify.report.formats.sarif import in_pieces

        yield from in_pieces(result)
    else:
        yield _render(result, format, ledger=ledger).encode("utf-8")


def _render(result: ScanResult | MigrationResult, format: str, *, ledger: bool = False) -> str:
    if format in IN_PIECES:
        return b"".join(_pieces(result, format, ledger=ledger)).decode("utf-8")
    if format == "text":
        from npuify.report.formats.text import render as render_text

        return printable(render_text(result, ledger=ledger))
    if format == "github":
        from npuify.report.formats.github import render
    elif format == "gitlab":
        from npuify.report.formats.gitlab import render
    elif format == "junit":
        from npuify.report.formats.junit import render
    elif format == "markdown":
        from npuify.report.formats.markdown import render
    elif format == "html":
        from npuify.report.html import render
    else:
        raise NpuifyError(
            phrase("there is no format {format!r}", format=format), advice="formats: " + ", ".join(FORMATS)
        )
    return printable(render(result))


def printable(text: str) -> str:
    """``text`` with what UTF-8 cannot hold (bytes of a file name that are not text) written as ``\\udcXX``."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
