"""The options that several commands share, and how they join with ``[tool.npuify]``."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Iterable

    from npuify.options import Options


class Format(str, Enum):
    """As ``npuify.report.FORMATS``."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"
    SARIF = "sarif"
    GITHUB = "github"
    GITLAB = "gitlab"
    JUNIT = "junit"
    MARKDOWN = "markdown"
    HTML = "html"


class ShortFormat(str, Enum):
    """For commands that report no findings."""

    TEXT = "text"
    JSON = "json"


class PageFormat(str, Enum):
    """For commands that judge one thing."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"


FormatOption = Annotated[Format, typer.Option("--format", help="The output format.")]
ShortFormatOption = Annotated[ShortFormat, typer.Option("--format", help="The output format.")]
PageFormatOption = Annotated[PageFormat, typer.Option("--format", help="The output format.")]
OutputOption = Annotated[
    Path | None,
    typer.Option("--output", metavar="FILE", help="Write the result to FILE instead of standard output."),
]
DataOption = Annotated[
    str,
    typer.Option(
        "--data",
        metavar="[NAME=]PATH",
        help="Data for both programs: they find PATH as NAME in their folder, and {data} in commands becomes PATH.",
    ),
]
TorchNpuOption = Annotated[
    str | None,
    typer.Option("--torch-npu", metavar="VERSION", help="The target torch_npu release, for example 2.7.1."),
]
SocOption = Annotated[
    str | None,
    typer.Option("--soc", metavar="NAME", help="The target chip, for example 910A, 310P, A2 or 910B3, A3."),
]
TargetVllmOption = Annotated[
    str | None,
    typer.Option("--target-vllm", metavar="VERSION", help="The target vLLM, for example 0.18.0."),
]
TfAdapterOption = Annotated[
    str | None,
    typer.Option("--tf-adapter", metavar="VERSION", help="The TensorFlow to move to: 1.15 or 2.6.5."),
]
SelectOption = Annotated[
    list[str] | None,
    typer.Option(
        "--select", metavar="CODES", help="Only these codes, comma-separated; NPU3 selects all that start with it."
    ),
]
IgnoreOption = Annotated[list[str] | None, typer.Option("--ignore", metavar="CODES", help="Ignore these codes.")]
ExcludeOption = Annotated[
    list[str] | None,
    typer.Option("--exclude", metavar="PATTERN", help="Files to skip, as in .gitignore. Can be repeated."),
]
UnsafeOption = Annotated[
    bool | None,
    typer.Option(
        "--unsafe/--no-unsafe", help="Also apply edits that are usually correct but need review.", show_default=False
    ),
]
RulesOption = Annotated[
    list[str] | None,
    typer.Option("--rules", metavar="FILE", help="Custom rules, TOML or the vendor tool's JSON. Can be repeated."),
]
CpuFallbackOption = Annotated[
    bool | None,
    typer.Option(
        "--cpu-fallback/--no-cpu-fallback",
        help="Run calls without an NPU kernel on the CPU.",
        show_default=False,
    ),
]
ReplaceOption = Annotated[
    bool | None,
    typer.Option(
        "--replace-unsupported/--no-replace-unsupported",
        help="Replace operators that the target release lacks with stand-ins.",
        show_default=False,
    ),
]
KernelsOption = Annotated[
    bool | None,
    typer.Option(
        "--replace-kernels/--no-replace-kernels",
        help="Put PyTorch in the place of CUDA extensions whose code is known.",
        show_default=False,
    ),
]
ThirdPartyOption = Annotated[
    list[Path] | None,
    typer.Option("--third-party", metavar="DIR", help="Source of a package whose calls are followed. Can be repeated."),
]
AboutOption = Annotated[
    list[str] | None,
    typer.Option(
        "--about",
        metavar="QUESTIONS",
        help="Only findings about: unsupported, doubtful, affinity, shapes, precision, performance, kernels.",
    ),
]
LedgerOption = Annotated[
    bool,
    typer.Option(
        "--ledger", help="Also list the places that need nothing, and why; in JSON, every place that concerns CUDA."
    ),
]
BaselineOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Only findings that this earlier report (--format json) does not have."),
]
DiffBaseOption = Annotated[
    str | None,
    typer.Option("--diff-base", metavar="REV", help="Only findings on lines changed since this git revision."),
]
VendorReportsOption = Annotated[
    Path | None,
    typer.Option("--vendor-reports", metavar="DIR", help="Also write the vendor tool's result files to this folder."),
]
StyleOption = Annotated[
    str | None,
    typer.Option("--style", metavar="STYLE", help="The migration style: npu, portable (CUDA, NPU, CPU) or auto."),
]
PlaceOption = Annotated[
    bool | None,
    typer.Option(
        "--place-on-npu/--no-place-on-npu",
        help="Move model, data and loss to the NPU in programs that name no device.",
        show_default=False,
    ),
]
DeviceDefaultOption = Annotated[
    str,
    typer.Option(
        "--device-default",
        metavar="npu",
        help="Make npu the default device of programs that support an NPU by themselves.",
        show_default=False,
    ),
]
NewlinesOption = Annotated[
    bool | None,
    typer.Option(
        "--normalize-newlines/--no-normalize-newlines",
        help="Convert shell and Python files to Unix line endings.",
        show_default=False,
    ),
]
ProgramArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="PROGRAM [ARGS]...", help="A Python file, torchrun, or a command, with its arguments."),
]
PythonOption = Annotated[str, typer.Option(metavar="PATH", help="The Python interpreter to run the program with.")]
ModuleOption = Annotated[str | None, typer.Option("-m", metavar="MODULE", help="Run a module, like python -m.")]
JobsOption = Annotated[
    int | None, typer.Option("--jobs", min=0, metavar="N", help="Number of processes; 0 means one per CPU core.")
]
NoCacheOption = Annotated[bool, typer.Option("--no-cache", help="Do not use or store cached results.")]


def settings(
    paths: Iterable[Path],
    *,
    torch_npu: str | None = None,
    soc: str | None = None,
    target_vllm: str | None = None,
    tf_adapter: str | None = None,
    select: list[str] | None = None,
    ignore: list[str] | None = None,
    exclude: list[str] | None = None,
    unsafe: bool | None = None,
    style: str | None = None,
    jobs: int | None = None,
    no_cache: bool = False,
    rules: list[str] | None = None,
    cpu_fallback: bool | None = None,
    replace_unsupported: bool | None = None,
    replace_kernels: bool | None = None,
    normalize_newlines: bool | None = None,
    third_party: list[Path] | None = None,
    about: list[str] | None = None,
    place_on_npu: bool | None = None,
    device_default: str = "",
    vendor_reports: Path | None = None,
) -> Options:
    """What was said on the command line, and for what was not said there: in the project's pyproject.toml.

    Patterns of ``--exclude`` are added to the project's own; everything else replaces what the project says.

    Raises:
        NpuifyError: the style does not exist, or the project's settings are wrong.
    """
    from npuify.cli.common.language import speak_as_configured
    from npuify.model import NpuifyError
    from npuify.options import Options, check_style
    from npuify.project.config import load_config
    from npuify.project.files import common_root

    if device_default not in ("", "npu"):
        raise NpuifyError(
            phrase("{device_default} is no default device that npuify writes", device_default=device_default),
            advice="say --device-default npu",
        )
    config = load_config(common_root(list(paths)))
    speak_as_configured(config.language)
    defaults = Options()
    return Options(
        torch_npu=torch_npu or config.torch_npu,
        soc=soc or config.soc,
        target_vllm=target_vllm or config.target_vllm,
        tf_adapter=tf_adapter or config.tf_adapter,
        style=check_style(style or config.style or defaults.style),
        place_on_npu=_said(place_on_npu, config.place_on_npu),
        device_default=device_default,
        select=_chosen(select, about) if select or about else config.select or (),
        ignore=_codes(ignore) if ignore is not None else config.ignore or (),
        exclude=(*(config.exclude or ()), *(exclude or ())),
        unsafe=_said(unsafe, config.unsafe),
        jobs=next((one for one in (jobs, config.jobs) if one is not None), defaults.jobs),
        rules=tuple(rules) if rules else config.rules or (),
        cpu_fallback=_said(cpu_fallback, config.cpu_fallback),
        replace_unsupported=_said(replace_unsupported, config.replace_unsupported),
        replace_kernels=_said(replace_kernels, config.replace_kernels),
        normalize_newlines=_said(normalize_newlines, config.normalize_newlines),
        third_party=tuple(map(str, third_party)) if third_party else config.third_party or (),
        vendor_reports=str(vendor_reports) if vendor_reports is not None else config.vendor_reports,
        cache=not no_cache and config.cache is not False,
    )


def _said(on_command_line: bool | None, in_project: bool | None) -> bool:
    return bool(in_project if on_command_line is None else on_command_line)


def _chosen(select: list[str] | None, about: list[str] | None) -> tuple[str, ...]:
    from npuify.rules.topics import codes_of_topics

    return (*_codes(select or []), *codes_of_topics(about or []))


def _codes(words: list[str]) -> tuple[str, ...]:
    return tuple(code.strip() for word in words for code in word.split(",") if code.strip())


def chosen_mode(modes: dict[str, bool], *, what: str, flags: str, example: str) -> str:
    """The one way of writing that was asked for.

    Args:
        modes: each way, and whether it was asked for.
        what: that is written, such as ``migrated project``; ``flags`` and ``example`` say how to ask.

    Raises:
        NpuifyError: none was asked for, or several were.
    """
    from npuify.model import NpuifyError

    chosen = [mode for mode, wanted in modes.items() if wanted]
    if len(chosen) != 1:
        wrong = (
            phrase("specify where to write the {what}", what=what) if not chosen else "these options exclude each other"
        )
        raise NpuifyError(phrase("{wrong}: one of {flags}", wrong=wrong, flags=flags), advice=example)
    return chosen[0]


def size_in_bytes(text: str) -> int:
    """``64GiB``, ``512 MiB``, ``8G`` or plain bytes as a number of bytes.

    Raises:
        NpuifyError: it is no size, or nothing.
    """
    import re

    from npuify.model import NpuifyError

    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(i?B)?\s*", text, re.IGNORECASE)
    if match is None or float(match[1]) <= 0:
        raise NpuifyError(phrase("not a memory size: {text}", text=text), advice="write it like 64GiB or 512MiB")
    power = " KMGT".index(match[2].upper() or " ")
    return int(float(match[1]) * 1024**power)
