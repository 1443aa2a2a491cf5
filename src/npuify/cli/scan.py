"""``npuify scan``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from npuify.cli.common.guard import FINDINGS_REMAIN, NOTHING_LEFT, cleaning_up
from npuify.cli.common.options import (
    AboutOption,
    BaselineOption,
    CpuFallbackOption,
    DeviceDefaultOption,
    DiffBaseOption,
    ExcludeOption,
    Format,
    FormatOption,
    IgnoreOption,
    JobsOption,
    KernelsOption,
    LedgerOption,
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
    settings,
)


@cleaning_up()
def scan(
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="PATH", help="Folders or files; default: the current folder.")
    ] = None,
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
    baseline: BaselineOption = None,
    diff_base: DiffBaseOption = None,
    ledger: LedgerOption = False,
    vendor_reports: VendorReportsOption = None,
    place_on_npu: PlaceOption = None,
    device_default: DeviceDefaultOption = "",
    jobs: JobsOption = None,
    no_cache: NoCacheOption = False,
) -> int:
    """Find what needs to change. Changes nothing.

    Exits with 0 if nothing is left to do, 1 if errors or warnings remain, 2 on failure.
    """
    import npuify
    from npuify.api import narrowed
    from npuify.cli.common.output import put_report, put_vendor_files
    from npuify.cli.common.progress import progress
    from npuify.report.summary import nothing_left

    places = paths or [Path()]
    options = settings(
        places,
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
        vendor_reports=vendor_reports,
        jobs=jobs,
        no_cache=no_cache,
    )
    with progress("Reading", "Scanning") as (preparing, show):
        result = npuify.scan(places, options, progress=show, preparing=preparing)
    result = narrowed(result, baseline=baseline, since=diff_base)
    put_vendor_files(result, options.vendor_reports)
    put_report(result, format.value, output, ledger=ledger)
    return NOTHING_LEFT if nothing_left(result) else FINDINGS_REMAIN
