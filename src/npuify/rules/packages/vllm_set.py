"""vLLM and its plug-in: a set of versions that decides torch, torch-npu and more."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.packages.dependency_file import admits
from npuify.rules.registry import Rule, list_rule
from npuify.source.requirements import Spot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.frameworks.vllm import VllmChoice, VllmSet
    from npuify.model import Finding
    from npuify.rules.packages.dependency_file import DependencyFile
    from npuify.source.requirements import Entry

_OF_TORCH = ("torch", "torchvision", "torchaudio")
DECIDED_BY_VLLM = frozenset((*_OF_TORCH, "vllm", "vllm-ascend", "torch-npu", "triton"))
"""Packages that the rules for vLLM speak of where vLLM is required beside them."""


def _vllm_set(node: object, file: object) -> Iterator[Finding]:
    """vLLM runs on NPUs with the plug-in vllm-ascend, and each release of the plug-in is for one vLLM.

    The plug-in decides torch, torch-npu and CANN, so these stay without a version here, and it is installed by a second
    call of pip: vLLM's own wheel wants another torch, so that one file with both cannot be resolved. Where no version
    is required, it is the newest with a final plug-in; ``--target-vllm`` asks for another.

    Before::

        vllm>=0.8
        torch==2.6.0
        tqdm

    After::

        vllm==0.23.0
        torch
        tqdm
    """
    raise NotImplementedError


def _vllm_without_plugin(node: object, file: object) -> Iterator[Finding]:
    """A command installs vLLM; the plug-in for NPUs is installed by a call after it.

    Before::

        pip install vllm==0.18.0 && vllm serve facebook/opt-125m

    After::

        pip install vllm==0.18.0 && pip install vllm-ascend==0.18.0 --extra-index-url https://download.pytorch.org/whl/cpu && vllm serve facebook/opt-125m
    """  # noqa: E501 - one command
    raise NotImplementedError


PLUGIN = list_rule(
    Rule(
        "NPU933",
        "vllm-without-plugin",
        Safety.REVIEW,
        Severity.ERROR,
        Evidence.DOCUMENTED,
        "vllm-ascend: docs/source/installation.md at 182b75ea84",
        (),
        (),
        _vllm_without_plugin,
        example_file="install.sh",
    )
)


SET = list_rule(
    Rule(
        "NPU932",
        "vllm-set",
        Safety.REVIEW,
        Severity.WARNING,
        Evidence.DOCUMENTED,
        "the table of vLLM's sets; npuify says the source with each finding",
        (),
        (),
        _vllm_set,
        example_file="requirements.txt",
    )
)


def judge_vllm(file: DependencyFile) -> Iterator[Finding]:
    """What has to change for vLLM and what it stands on, in a file that requires it."""
    entries = file.named("vllm")
    choice = file.vllm.choice(entries[0].specifier or "")
    row = choice.row
    for entry in entries:
        yield _of_vllm(entry, choice, file)
    if not choice.fits:
        return
    for entry in file.named(*_OF_TORCH):
        if entry.specifier is None or not entry.specifier or _fits_vllm(entry, row):
            continue
        yield file.report(
            SET,
            entry,
            phrase(
                "vLLM {vllm} and its plug-in decide the version of {name}; {written} is another",
                vllm=row.vllm[0],
                name=entry.name,
                written=file.written(entry),
            ),
            spots=[_without_version(entry)],
            severity=Severity.ERROR,
            evidence=row.evidence,
            source=row.source,
            subject=entry.name,
            advice=phrase("vllm-ascend {plugin} wants torch {torch}", plugin=row.plugin, torch=row.torch),
        )
    for entry in file.named("torch-npu", "vllm-ascend", "triton"):
        yield _beside(entry, row, file)
    for entry in file.named("transformers"):
        pinned = re.fullmatch(r"={2,3}\s*(\d[\w.]*)", entry.specifier or "")
        if row.transformers and pinned is not None and not admits(row.transformers, pinned[1]):
            yield file.report(
                SET,
                entry,
                phrase(
                    "vllm-ascend {plugin} wants transformers{version}; {written} is another",
                    plugin=row.plugin,
                    version=row.transformers,
                    written=file.written(entry),
                ),
                spots=[file.version(entry, row.transformers)],
                severity=Severity.ERROR,
                evidence=row.evidence,
                source=row.source,
                subject=entry.name,
            )
    for entry in file.named("opencv-python-headless"):
        if row.opencv and entry.specifier and not admits(entry.specifier, row.opencv.removeprefix("<=")):
            yield file.report(
                SET,
                entry,
                phrase(
                    "vllm-ascend {plugin} wants opencv-python-headless{version}; {written} is another",
                    plugin=row.plugin,
                    version=row.opencv,
                    written=file.written(entry),
                ),
                evidence=row.evidence,
                source=row.source,
                subject=entry.name,
                advice="pip complains of the two, and both work: install the plug-in last",
            )


def judge_plugin_alone(file: DependencyFile) -> Iterator[Finding]:
    """A file that asks for the plug-in and for no vLLM: an open version brings what has no wheel, or fits no vLLM."""
    for entry in file.named("vllm-ascend"):
        if re.fullmatch(r"={2,3}\s*\d[\w.]*", entry.specifier or "") or entry.url:
            continue
        row = file.vllm.choice().row
        yield file.report(
            SET,
            entry,
            phrase(
                "vllm-ascend belongs to one vLLM, and {written} takes whatever is newest, which has no wheel",
                written=file.written(entry),
            ),
            spots=[file.version(entry, f"=={row.plugin}")] if row.installable else None,
            evidence=row.evidence,
            source="package index: vllm-ascend 0.23.0.post1, which is there as source only",
            subject=entry.name,
            advice=phrase("for vLLM {vllm} it is vllm-ascend {plugin}", vllm=row.vllm[0], plugin=row.plugin),
        )


def judge_beside_vllm(file: DependencyFile) -> Iterator[Finding]:
    """A file without vLLM in a project that requires it elsewhere: the plug-in decides torch there, too."""
    row = file.vllm.choice().row
    for entry in file.named(*_OF_TORCH, "torch-npu"):
        wanted = {"torch": row.torch, "torch-npu": row.torch_npu}.get(entry.name, "")
        if not entry.specifier or (wanted and "+" not in entry.specifier and admits(entry.specifier, wanted)):
            continue
        yield file.report(
            SET,
            entry,
            phrase(
                "vLLM, required elsewhere in the project, decides {name}; here it is {written}",
                name=entry.name,
                written=file.written(entry),
            ),
            evidence=row.evidence,
            source=row.source,
            subject=entry.name,
            advice=phrase(
                "vllm-ascend {plugin} wants torch {torch} and torch-npu {torch_npu}",
                plugin=row.plugin,
                torch=row.torch,
                torch_npu=row.torch_npu,
            ),
        )


def second_call(row: VllmSet) -> str:
    """How the plug-in is installed after vLLM."""
    if row.installable:
        return f"pip install {row.to_install}"
    return phrase(
        "vllm-ascend {plugin} from its source, or the image quay.io/ascend/vllm-ascend:v{plugin}", plugin=row.plugin
    )


def needs(row: VllmSet) -> str:
    """What a set consists of, in one sentence."""
    triton = phrase(", triton-ascend {triton_ascend}", triton_ascend=row.triton_ascend) if row.triton_ascend else ""
    return phrase(
        "vllm-ascend {plugin}, torch {torch}, torch-npu {torch_npu}{triton}, CANN {cann} with "
        "NNAL, and Python {python}",
        plugin=row.plugin,
        torch=row.torch,
        torch_npu=row.torch_npu,
        triton=triton,
        cann=row.cann,
        python=row.python,
    )


def _of_vllm(entry: Entry, choice: VllmChoice, file: DependencyFile) -> Finding:
    row = choice.row
    if not choice.fits:
        return file.report(
            SET,
            entry,
            phrase("{reason}; the nearest that is known is for vLLM {vllm}", reason=choice.reason, vllm=row.vllm[0]),
            severity=Severity.ERROR,
            evidence=row.evidence,
            source=row.source,
            subject="vllm",
            advice=phrase("move to vllm=={version}: {needs}", version=row.vllm[0], needs=needs(row)),
        )
    pinned = entry.specifier in [f"=={version}" for version in row.vllm]
    return file.report(
        SET,
        entry,
        phrase(
            "vLLM {vllm} runs on NPUs with {needs} ({reason})", vllm=row.vllm[0], needs=needs(row), reason=choice.reason
        ),
        spots=[] if pinned or entry.url else [file.version(entry, f"=={row.vllm[0]}")],
        evidence=row.evidence,
        source=row.source,
        subject="vllm",
        advice=phrase("after this, by a call of its own: {second_call}", second_call=second_call(row)),
    )


def _fits_vllm(entry: Entry, row: VllmSet) -> bool:
    """Whether the torch that vLLM's own wheel wants may come, which the plug-in's replaces afterwards."""
    wanted = row.vllm_torch or row.torch
    return entry.name == "torch" and "+" not in (entry.specifier or "") and admits(entry.specifier or "", wanted)


def _without_version(entry: Entry) -> Spot | None:
    if entry.version_span is None or entry.name_span is None or entry.dialect in ("poetry", "pipenv", "conda"):
        return None
    return Spot(*entry.version_span, "")


def _beside(entry: Entry, row: VllmSet, file: DependencyFile) -> Finding:
    if entry.name == "triton":
        why = "triton and triton-ascend own the same module"
        advice = (
            phrase("triton-ascend {triton_ascend} comes with the plug-in", triton_ascend=row.triton_ascend)
            if row.triton_ascend
            else ""
        )
    else:
        why = phrase(
            "{name} beside vllm in one file cannot be resolved: they want other versions of torch", name=entry.name
        )
        advice = phrase(
            "install it afterwards: {second_call}, which brings torch-npu {torch_npu}",
            second_call=second_call(row),
            torch_npu=row.torch_npu,
        )
    return file.report(
        SET,
        entry,
        why,
        spots=[entry.removal],
        severity=Severity.ERROR,
        evidence=row.evidence,
        source=row.source,
        subject=entry.name,
        advice=advice,
    )
