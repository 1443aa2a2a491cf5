"""Where results go: standard output, a terminal with colours, or a file."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from npuify.language import phrase
from npuify.model import NpuifyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from npuify.model import MigrationResult, ScanResult

Judgement = TypeVar("Judgement")


def put(text: str, output: Path | None = None, *, exact: bool = True) -> None:
    """Write ``text`` to ``output`` (whole or not at all), else to standard output.

    Args:
        exact: for programs: UTF-8 with the line ends of ``text``, wherever it goes. Otherwise the standard output's own
            encoding is used, and what it cannot write is escaped.

    Raises:
        NpuifyError: ``output`` cannot be written.
    """
    if output is not None:
        _to_file(text.encode("utf-8", "surrogateescape"), output)
    elif exact:
        _to_stdout(text.encode("utf-8", "surrogateescape"))
    else:
        _to_stdout(text.encode(sys.stdout.encoding or "utf-8", "backslashreplace"))


def put_bytes(data: bytes, output: Path | None) -> None:
    """Write ``data`` to ``output`` (whole or not at all), else to standard output where that is no terminal.

    Raises:
        NpuifyError: ``output`` cannot be written, or a terminal would show the data.
    """
    if output is not None:
        _to_file(data, output)
    elif sys.stdout.isatty():
        raise NpuifyError("this format is not for a terminal", advice="give --output FILE")
    else:
        _to_stdout(data)


def put_report(result: ScanResult | MigrationResult, format: str, output: Path | None, *, ledger: bool = False) -> None:
    """Write the report of ``result``; with colours where a person reads it in a terminal.

    Args:
        ledger: as :func:`npuify.report.render_scan` takes it.

    Raises:
        NpuifyError: ``output`` cannot be written.
    """
    from npuify.model import ScanResult
    from npuify.report import IN_PIECES, pieces, render_migration, render_scan

    if format in IN_PIECES:
        waiting = pieces(result, format, ledger=ledger)
        if output is None:
            _pieces_to_stdout(waiting)
        else:
            _pieces_to_file(waiting, output)
    elif format == "text" and output is None and sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        from npuify.report.formats.text import lines

        _to_terminal(lines(result, ledger=ledger))
    elif isinstance(result, ScanResult):
        put(render_scan(result, format, ledger=ledger), output, exact=format != "text")
    else:
        put(render_migration(result, format), output, exact=format != "text")


def put_migration(result: MigrationResult, format: str, output: Path | None, *, as_patch: bool) -> None:
    """Write the report of ``result``; as a patch, its text goes to the error stream.

    Raises:
        NpuifyError: ``output`` cannot be written.
    """
    if not as_patch or format != "text":
        put_report(result, format, output)
        return
    from npuify.report import render_migration

    put(result.diff, output)
    # The patch alone goes to the standard output, so that it can be piped into `git apply`.
    report = render_migration(result, "text")
    print(report.encode(sys.stderr.encoding or "utf-8", "backslashreplace").decode(), end="", file=sys.stderr)


def put_judgement(
    report: Judgement,
    format: str,
    output: Path | None,
    *,
    text: Callable[[Judgement], str],
    json: Callable[[Judgement], str],
    html: Callable[[Judgement], str],
) -> None:
    """Write a report on one thing, in the form that was asked for.

    Raises:
        NpuifyError: ``output`` cannot be written.
    """
    render = {"text": text, "json": json, "html": html}[format]
    put(render(report), output, exact=format != "text")


def put_vendor_files(result: ScanResult | MigrationResult, reports: str | None) -> None:
    """Write the vendor tool's result files into the folder ``reports``, if one is asked for: all of them, or none.

    Raises:
        NpuifyError: they cannot be written.
    """
    if reports is None:
        return
    from npuify.report.formats.vendor import write_vendor_files

    write_vendor_files(result, Path(reports))


def _to_terminal(lines: Iterable[list[tuple[str, str]]]) -> None:
    from rich.console import Console
    from rich.text import Text

    from npuify.report import printable

    console = Console(highlight=False, soft_wrap=True)
    try:
        for line in lines:
            console.print(Text.assemble(*((printable(text), style) for text, style in line)))
    except BrokenPipeError:
        _close_stdout()
    except OSError as error:
        raise _unwritable(error) from error


def _to_stdout(data: bytes) -> None:
    _pieces_to_stdout((data,))


def _pieces_to_stdout(pieces: Iterable[bytes]) -> None:
    try:
        sys.stdout.flush()
        for data in pieces:
            sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        _close_stdout()
    except OSError as error:
        if sys.platform == "win32" and error.errno == errno.EINVAL:
            _close_stdout()
        else:
            raise _unwritable(error) from error


def _unwritable(error: OSError) -> NpuifyError:
    """What to say where standard output takes no more, as on a full disk."""
    from npuify.model import NpuifyError

    _close_stdout()
    return NpuifyError(phrase("cannot be written: {value}", value=error.strerror or error), file="standard output")


def _close_stdout() -> None:
    """Send what is still to come nowhere: the reader (``head``, a pager) has gone, which is no failure of ours."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _to_file(data: bytes, output: Path) -> None:
    _pieces_to_file((data,), output)


def _pieces_to_file(pieces: Iterable[bytes], output: Path) -> None:
    from npuify.model import NpuifyError
    from npuify.rewrite.tree import replace_file

    target = Path(os.path.realpath(output))
    if target.exists() and not target.is_file() and not target.is_dir():
        try:
            with target.open("wb") as stream:
                stream.writelines(pieces)
        except OSError as error:
            raise NpuifyError(error.strerror or str(error), file=str(output)) from error
        return
    if target.is_dir():
        raise NpuifyError("is a folder", advice="specify a file for --output", file=str(output))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NpuifyError(error.strerror or str(error), file=str(output)) from error
    replace_file(target, pieces)
