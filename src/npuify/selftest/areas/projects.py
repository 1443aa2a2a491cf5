"""Whole projects: the examples, a new project, and a program that was converted to several cards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence
from npuify.process.itself import npuify_command
from npuify.selftest.areas.written import STYLES
from npuify.selftest.checks import Check, Unchecked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.release.table import ReleaseTable

_PACKAGE: Final = Path(__file__).parents[2]
_EXAMPLES: Final = ("image_classification", "small_gpt", "ddp_training")
_CLASSIFY: Final = (
    "train.py --epochs=3 --batch-size=16 --workers=0 --train-size=64 --val-size=16 --image-size=16 --width=8 --no-amp"
)
_GPT: Final = "train.py --steps=6 --batch-size=4 --layers=1 --width=32 --heads=2 --no-compile"
_TAG: Final = "train.py --config=configs/small.yaml --set=train.steps=6 --set=train.log_every=1"
_STARTED: Final = {
    "image_classification": (_CLASSIFY, _CLASSIFY),
    "small_gpt": (_GPT, _GPT),
    "ddp_training": (f"{_TAG} --set=distributed.backend=gloo", _TAG),
}
_ON_NPU: Final = " --set=train.device=npu --set=distributed.backend=hccl"
"""A portable project's settings stay those of CUDA; on an NPU they are given when the program is started."""
_NEW: Final = "train.py --config=configs/tiny.yaml"
_LOSS: Final = r"\bloss (\d+\.\d+)"
_OF_EPOCH: Final = r"epoch \d+: loss (\d+\.\d+)"
_CLOSE: Final = 0.05
_HALF: Final = 0.1
"""Shares by which losses may differ: HF32 in convolutions and another order of the samples; half types."""


def examples() -> Path | None:
    """The folder of the example projects: in the package as it is installed, or in a checkout."""
    for folder in (_PACKAGE / "examples", _PACKAGE.parents[1] / "examples"):
        if all((folder / name / "train.py").is_file() for name in _EXAMPLES):
            return folder
    return None


def projects(table: ReleaseTable) -> Iterator[Check | Unchecked]:
    """A check for each example in each style, for a new project, and for a converted program."""
    folder = examples()
    release = f"--torch-npu={table.torch_npu}"
    for name in _EXAMPLES:
        if folder is None:
            yield Unchecked("programs", name, phrase("the examples are not installed"))
            continue
        for style in STYLES:
            before, after = _STARTED[name]
            more = _ON_NPU if name == "ddp_training" and style == "portable" else ""
            yield _check(
                f"{name} {style}",
                phrase("the example {name} in style {style} trains as on the CPU", name=name, style=style),
                str(folder / name),
                ["migrate", str(folder / name), "-o", "made", "--unsafe", "--style", style, release],
                before,
                after + more,
                limit=_HALF if name == "small_gpt" else _CLOSE,
                launched=name == "ddp_training",
            )
    for style in ("npu", "portable"):
        yield _check(
            f"new project {style}",
            phrase("a new project in style {style} trains as on the CPU", style=style),
            "",
            ["scaffold", "training", "-o", "made", "--name", "selftest-project", "--style", style, release],
            f"{_NEW} --set=train.device=cpu",
            _NEW,
            limit=_HALF,
        )
    if folder is None:
        return
    source = str(folder / "image_classification")
    convert = ["distribute", source, "-o", "made", "--entry", "train.py", "--unsafe", release]
    for ranks in (1, 2):
        yield _check(
            f"converted on {ranks}",
            phrase("a program that was converted to several cards trains as the original on the CPU"),
            source,
            [*convert, "--global-batch", "keep", "--sync-batchnorm"],
            _CLASSIFY,
            _CLASSIFY,
            limit=_CLOSE,
            ranks=ranks,
            launched=ranks > 1,
            pattern=_OF_EPOCH,
        )


def _launcher(ranks: int) -> list[str]:
    return ["-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={ranks}"]


def _check(
    name: str,
    claim: str,
    source: str,
    make: list[str],
    before: str,
    after: str,
    *,
    limit: float,
    ranks: int = 1,
    launched: bool = False,
    pattern: str = _LOSS,
) -> Check:
    return Check(
        id=f"programs/{name}",
        claim=claim,
        subject="",
        evidence=Evidence.ASSUMED,
        source="tests on the simulated NPU",
        function="projects:losses",
        arguments={
            "source": source,
            "make": npuify_command(make),
            "before": [*(_launcher(1) if launched and ranks == 1 else ()), *before.split()],
            "after": [*(_launcher(ranks) if launched else ()), *after.split()],
            "pattern": pattern,
            "limit": limit,
        },
        expected="",
        cards=ranks,
        group=f"programs {name}",
        seconds=900,
    )
