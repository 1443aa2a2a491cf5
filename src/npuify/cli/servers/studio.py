"""``npuify studio``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from npuify.cli.common.guard import NOTHING_LEFT
from npuify.language import phrase


def studio(
    project: Annotated[
        Path | None, typer.Argument(metavar="[PROJECT]", help="The project that the page offers first.")
    ] = None,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, metavar="N", help="The port; 0 takes any that is free.")
    ] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only write the address.")] = False,
) -> int:
    """Open npuify as a page in the browser: scan, review each edit, and write the result.

    It needs Starlette and uvicorn: pip install 'npuify[studio]'. Only this machine is answered, and only with the token
    in the address. Nothing of a project is run unless a page says so and is told to. Ctrl-C ends it.
    """
    from npuify.model import NpuifyError

    if project is not None and not project.exists():
        raise NpuifyError("there is no such file or folder", file=str(project))
    try:
        import starlette
        import uvicorn
    except ModuleNotFoundError as error:
        raise NpuifyError(
            phrase("the page needs {name}, which is not installed", name=error.name),
            advice="pip install 'npuify[studio]'",
        ) from None
    del starlette, uvicorn
    from npuify.studio.serve import serve

    def say(address: str) -> None:
        print(
            phrase("npuify studio: {address}\nKeep this address to yourself; Ctrl-C ends it.", address=address),
            flush=True,
        )

    serve(project.absolute() if project else None, port, browser=not no_browser, say=say)
    return NOTHING_LEFT
