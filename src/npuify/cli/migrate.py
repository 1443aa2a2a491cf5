"""``npuify migrate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from npuify.cli.common.guard import FINDINGS_REMAIN, NOTHING_LEFT, cleaning_up
from npuify.cli.common.options import (
    AboutOption,
    CpuFallbackOption,
    DeviceDefaultOption,
    ExcludeOption,
    Format,
    FormatOption,
    IgnoreOption,
    JobsOption,
    KernelsOption,
    NewlinesOption,
    NoCacheOption,
    OutputOption,
    PlaceOption,
    ReplaceOption,
    RulesOption,
    SelectOption,
    SocOption,
    StyleOption,
    TargetVllmOption,
    TfAdapterOption,
    ThirdPartyOption,
    TorchNpuOption,
    UnsafeOption,
    VendorReportsOption,
    chosen_mode,
    settings,
)
from npuify.language import phrase


@cleaning_up()
def migrate(
    source: Annotated[Path, typer.Argument(metavar="SRC", help="The project: a folder, or one file.")],
    destination: Annotated[
        Path | None, typer.Option("-o", "--destination", metavar="DEST", help="Write a migrated copy to this folder.")
    ] = None,
    diff: Annotated[bool, typer.Option("--diff", help="Write nothing; show the edits as a patch.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 if anything would change.")
    ] = False,
    in_place: Annotated[bool, typer.Option("--in-place", help="Change the files in SRC.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace DEST if it is not empty.")] = False,
    format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    torch_npu: TorchNpuOption = None,
    soc: SocOption = None,
    target_vllm: TargetVllmOption = None,
    tf_adapter: TfAdapterOption = None,
    select: SelectOption = None,
    ignore: IgnoreOption = None,
    exclude: ExcludeOption = None,
    unsafe: UnsafeOption = None,
    style: StyleOption = None,
    rules: RulesOption = None,
    cpu_fallback: CpuFallbackOption = None,
    replace_unsupported: ReplaceOption = None,
    replace_kernels: KernelsOption = None,
    third_party: ThirdPartyOption = None,
    about: AboutOption = None,
    vendor_reports: VendorReportsOption = None,
    place_on_npu: PlaceOption = None,
    device_default: DeviceDefaultOption = "",
    normalize_newlines: NewlinesOption = None,
    from_trace: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The output of npuify run --trace: make the changes that the program needed."
        ),
    ] = None,
    jobs: JobsOption = None,
    no_cache: NoCacheOption = False,
) -> int:
    """Migrate the project to the NPU.

    The migrated copy (-o DEST) contains npuify-report/ with every change and everything left to do.

    Exits with 0 if nothing is left to do, 1 if errors or warnings remain, 2 on failure.
    """
    import msgspec

    import npuify
    from npuify.cli.common.output import put_migration, put_vendor_files
    from npuify.cli.common.progress import progress
    from npuify.model import NpuifyError
    from npuify.report.summary import nothing_left

    modes = {"copy": destination is not None, "diff": diff, "check": check, "in-place": in_place}
    flags = "-o DEST, --diff, --check, --in-place"
    mode = chosen_mode(modes, what=phrase("migrated project"), flags=flags, example="npuify migrate SRC -o DEST")
    if force and mode != "copy":
        raise NpuifyError("--force needs -o DEST")
    options = settings(
        [source],
        torch_npu=torch_npu,
        soc=soc,
        target_vllm=target_vllm,
        tf_adapter=tf_adapter,
        select=select,
        ignore=ignore,
        exclude=exclude,
        unsafe=unsafe,
        style=style,
        rules=rules,
        cpu_fallback=cpu_fallback,
        replace_unsupported=replace_unsupported,
        replace_kernels=replace_kernels,
        third_party=third_party,
        about=about,
        place_on_npu=place_on_npu,
        device_default=device_default,
        normalize_newlines=normalize_newlines,
        vendor_reports=vendor_reports,
        jobs=jobs,
        no_cache=no_cache,
    )
    options = msgspec.structs.replace(options, from_trace=str(from_trace or ""))
    with progress("Reading", "Migrating") as (preparing, show):
        result = npuify.migrate(
            source, destination, options, mode=mode, force=force, progress=show, preparing=preparing
        )
    if mode == "in-place":
        # Reports take an empty destination for "nothing was written".
        result = msgspec.structs.replace(result, destination=result.scan.root)
    put_vendor_files(result, options.vendor_reports)
    put_migration(result, format.value, output, as_patch=mode == "diff")
    would_change = mode == "check" and result.changed_files
    return FINDINGS_REMAIN if would_change or not nothing_left(result) else NOTHING_LEFT
