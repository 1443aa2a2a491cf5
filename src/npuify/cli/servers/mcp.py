"""``npuify mcp``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from npuify.cli.common.guard import NOTHING_LEFT
from npuify.language import phrase


def mcp(
    root: Annotated[
        list[Path] | None,
        typer.Option(
            "--root",
            metavar="DIR",
            help="A folder that may be read and written; repeatable. Default: what the client has open, else this one.",
        ),
    ] = None,
    no_run: Annotated[
        bool, typer.Option("--no-run", help="Leave out the tools that run a project's code: simulate, verify.")
    ] = False,
) -> int:
    """Start the server for coding agents (Model Context Protocol), over standard input and output.

    It needs mcp: pip install 'npuify[mcp]'. Nothing outside of the roots is read or written.
    """
    from npuify.model import NpuifyError

    for folder in root or ():
        if not folder.is_dir():
            raise NpuifyError("is no folder", file=str(folder))
    try:
        from mcp.server import MCPServer

        import mcp as package
    except ImportError as error:
        raise NpuifyError(
            phrase("the server needs the package mcp 2 or newer: {error}", error=error),
            advice="pip install 'npuify[mcp]'",
        ) from None
    del package, MCPServer
    from npuify.mcp.server import serve

    serve(root or [], runs_code=not no_run)
    return NOTHING_LEFT
