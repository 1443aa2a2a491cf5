"""``npuify distribute``."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from npuify.cli.common.guard import FINDINGS_REMAIN, NOTHING_LEFT, cleaning_up
from npuify.cli.common.options import (
    ExcludeOption,
    Format,
    FormatOption,
    JobsOption,
    OutputOption,
    TfAdapterOption,
    TorchNpuOption,
    UnsafeOption,
    chosen_mode,
    settings,
)
from npuify.language import phrase


class Scaling(str, Enum):
    """How the learning rate grows with the global batch."""

    LINEAR = "linear"
    SQRT = "sqrt"


class GlobalBatch(str, Enum):
    """What becomes of the batch size."""

    KEEP = "keep"
    GROW = "grow"


@cleaning_up()
def distribute(
    source: Annotated[Path, typer.Argument(metavar="SRC", help="The project: a folder, or one file.")],
    entry: Annotated[
        str,
        typer.Option(
            "--entry", metavar="FILE", help="The training entry point; by default SRC, if that is a single file."
        ),
    ] = "",
    destination: Annotated[
        Path | None, typer.Option("-o", "--destination", metavar="DEST", help="Write a converted copy to this folder.")
    ] = None,
    diff: Annotated[bool, typer.Option("--diff", help="Write nothing; show the edits as a patch.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; report what would be done.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace DEST if it is not empty.")] = False,
    model: Annotated[
        str, typer.Option("--model", metavar="NAME", help="The trained model's name in the training loop.")
    ] = "",
    sync_batchnorm: Annotated[
        bool, typer.Option("--sync-batchnorm", help="Synchronize BatchNorm across all cards.")
    ] = False,
    scale_lr: Annotated[
        Scaling | None,
        typer.Option("--scale-lr", help="Scale the learning rate by the number of cards, or its square root."),
    ] = None,
    global_batch: Annotated[
        GlobalBatch,
        typer.Option("--global-batch", help="keep: the batch size is split across cards, instead of used on each."),
    ] = GlobalBatch.GROW,
    complete: Annotated[
        bool, typer.Option("--complete", help="Complete a program that is already distributed, where provable.")
    ] = False,
    format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    torch_npu: TorchNpuOption = None,
    exclude: ExcludeOption = None,
    unsafe: UnsafeOption = None,
    jobs: JobsOption = None,
    tf_adapter: TfAdapterOption = None,
) -> int:
    """Convert a single-card training program to many cards, with one process per card.

    CUDA code is migrated to the NPU first. The converted program also runs on one card, without torchrun. Only provable
    edits are made; for the rest, the report says which statements to add, and where. Programs that are already
    distributed, start processes themselves, train by reinforcement learning, or use a distributing framework are
    refused with a reason, and nothing is written. For TensorFlow see docs/tensorflow.md.

    Exits with 0 if nothing is left to do, 1 if something is left or the program is refused, 2 on failure.
    """
    from npuify.cli.common.output import put_migration
    from npuify.cli.common.progress import progress
    from npuify.distribute.convert import ConversionOptions, is_refused
    from npuify.distribute.convert import distribute as convert
    from npuify.model import NpuifyError
    from npuify.report.summary import nothing_left

    modes = {"copy": destination is not None, "diff": diff, "check": check}
    example = "npuify distribute SRC -o DEST --entry FILE"
    mode = chosen_mode(modes, what=phrase("converted project"), flags="-o DEST, --diff, --check", example=example)
    if not entry:
        if not source.is_file():
            raise NpuifyError(
                "specify the training entry point", advice="npuify distribute SRC -o DEST --entry train.py"
            )
        entry = source.name
    options = settings(
        [source], torch_npu=torch_npu, exclude=exclude, unsafe=unsafe, style="npu", jobs=jobs, tf_adapter=tf_adapter
    )
    conversion = ConversionOptions(
        entry=entry,
        model=model,
        sync_batchnorm=sync_batchnorm,
        scale_lr=scale_lr.value if scale_lr is not None else "",
        keep_global_batch=global_batch is GlobalBatch.KEEP,
        complete=complete,
    )
    with progress("Migrating") as (show,):
        result = convert(source, destination, conversion, options, mode=mode, force=force, progress=show)
    put_migration(result, format.value, output, as_patch=diff)
    would_change = check and bool(result.changed_files)
    remain = is_refused(result) or would_change or not nothing_left(result)
    return FINDINGS_REMAIN if remain else NOTHING_LEFT
