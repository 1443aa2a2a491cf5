"""What npuify tells: the same result as text, JSON, JSON lines, SARIF, GitHub annotations, GitLab code
quality, JUnit, Markdown or HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from npuify.language import phrase, speaking
from npuify.model import NpuifyError

if TYPE_CHECKING:
    from npuify.model import MigrationResult, ScanResult

FORMATS: Final = ("text", "json", "jsonl", "sarif", "github", "gitlab", "junit", "markdown", "html")

__all__ = ["FORMATS", "json_schema", "render_migration", "render_scan", "report_files", "schema_text"]


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
    import json

    import msgspec

    (found,), definitions = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:npuify:{command}:{version}",
        "title": title,
        "description": f"The output of `npuify {command}` with --format json.",
        **found,
        "$defs": definitions,
    }
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _render(result: ScanResult | MigrationResult, format: str, *, ledger: bool = False) -> str:
    if format == "text":
        from npuify.report.formats.text import render as render_text

        return printable(render_text(result, ledger=ledger))
    if format in ("json", "jsonl"):
        from npuify.report.document import render_json, render_lines

        return printable((render_json if format == "json" else render_lines)(result, ledger=ledger))
    if format == "sarif":
        from npuify.report.formats.sarif import render
    elif format == "github":
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
