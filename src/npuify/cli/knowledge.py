"""``npuify knowledge list``, ``show``, ``generate`` and ``generate-tensorflow``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from npuify.cli.common.guard import NOTHING_LEFT
from npuify.cli.common.options import OutputOption, ShortFormat, ShortFormatOption


def list_releases(format: ShortFormatOption = ShortFormat.TEXT, output: OutputOption = None) -> int:
    """List the torch_npu releases.

    Shows the torch, CANN and Python versions for each, and whether npuify knows its names.
    """
    import npuify.knowledge as knowledge
    from npuify.cli.common.output import put
    from npuify.report.answers import render_releases

    put(render_releases(knowledge.releases(), format.value), output, exact=format is not ShortFormat.TEXT)
    return NOTHING_LEFT


def show(
    version: Annotated[
        str | None, typer.Argument(metavar="VERSION", help="For example 2.7.1; default: the newest stable release.")
    ] = None,
    format: ShortFormatOption = ShortFormat.TEXT,
    output: OutputOption = None,
) -> int:
    """Show what is known about one release."""
    import npuify.knowledge as knowledge
    from npuify.cli.common.output import put
    from npuify.report.answers import render_release

    release = knowledge.choose_release(version, None)
    summary = knowledge.describe_release(release.torch_npu)
    put(render_release(summary, format.value), output, exact=format is not ShortFormat.TEXT)
    return NOTHING_LEFT


def learn(
    result: Annotated[
        Path, typer.Argument(metavar="RESULT.json", help="What npuify selftest --format json wrote on an NPU.")
    ],
    shipped: Annotated[
        bool,
        typer.Option("--shipped", help="Keep it in the tables that ship. For npuify development: needs its checkout."),
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Where the same kind of machine said otherwise before, take the new.")
    ] = False,
    output: OutputOption = None,
) -> int:
    """Keep what a selftest saw, and use it.

    From then on, findings, explanations and reports say where a fact was seen, and a fact that did not hold no longer
    leads to edits. Nothing is overwritten unless --replace is given. Exit code: 1 if something said otherwise before.
    """
    from npuify.cli.common.guard import FINDINGS_REMAIN
    from npuify.cli.common.output import put
    from npuify.selftest.learn import learn as keep
    from npuify.selftest.learn import render

    learned = keep(result, shipped=shipped, replace=replace)
    put(render(learned), output, exact=False)
    return FINDINGS_REMAIN if learned.conflicts and not replace else NOTHING_LEFT


def generate(
    torch_npu: Annotated[str, typer.Option("--torch-npu", metavar="VERSION", help="The exact release.")],
    wheels: Annotated[
        Path | None,
        typer.Option("--wheels", metavar="FOLDER", help="Use packages from this folder instead of downloading them."),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", metavar="FOLDER", help="Where to write VERSION.json; default: here.")
    ] = Path(),
    live: Annotated[
        bool,
        typer.Option(
            "--live",
            help="Create live/VERSION.json by importing the real package with stubs for CANN. For npuify development: "
            "needs its checkout, Linux and g++.",
        ),
    ] = False,
) -> int:
    """Generate the table of one release.

    Reads the files in its packages; imports and runs nothing from them, unless --live is given.
    """
    from npuify.cli.common.output import put

    if live:
        from npuify.knowledge.generate.live import generate_live as make
    else:
        from npuify.knowledge.generate import generate as make
    put(f"{make(torch_npu, wheels=wheels, output=output)}\n", exact=False)
    return NOTHING_LEFT


def generate_tensorflow(
    sources: Annotated[Path, typer.Argument(metavar="SOURCES", help="A checkout of the adapter's repository.")],
    commit: Annotated[str, typer.Option("--commit", metavar="HASH", help="The commit that was checked out.")],
    output: Annotated[
        Path, typer.Option("--output", metavar="FOLDER", help="Where to write the tables; default: here.")
    ] = Path(),
) -> int:
    """Generate the tables of the TensorFlow adapter.

    Reads the Python sources and the vendor's lists of names; imports and runs nothing from them.
    """
    from npuify.cli.common.output import put
    from npuify.knowledge.generate.tensorflow import generate_tensorflow as make

    for path in make(sources, commit=commit, output=output):
        put(f"{path}\n", exact=False)
    return NOTHING_LEFT
