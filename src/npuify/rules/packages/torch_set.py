"""torch, torch-npu, torchvision and torchaudio: one set of versions that belong together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.packages.dependency_file import admits, requirement
from npuify.rules.registry import Rule, list_rule
from npuify.source.requirements import Spot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Finding
    from npuify.rules.packages.dependency_file import DependencyFile
    from npuify.source.requirements import Entry

_TORCH = ("torch", "pytorch")
_COMPANIONS = ("torchvision", "torchaudio")
_CUDA_PATH = re.compile(r"(?:(?<=/whl/)|(?<=/whl/nightly/)|(?<=/whl/test/))cu\d{2,3}(?=[/\"'\s]|$)", re.MULTILINE)
_OF_OTHERS = re.compile(r"(?:flashinfer\.ai|wheels\.vllm\.ai|docs\.sglang\.ai)/\S*\Z")
"""Pages of packages that are built for CUDA only: there is none for the CPU."""
_ONLY_INDEX = re.compile(r"(?<![\w-])(?:--index-url|-i)(?=[ \t=]+https?://download\.pytorch\.org/whl/)")
_CUDA_BACKEND = re.compile(r"(?<=--torch-backend[= ])cu\d{2,3}(?=\s|$)", re.MULTILINE)
"""uv's own option for the same."""
_WHOLE_PAGE = re.compile(r"(?<=download\.pytorch\.org/whl/)torch_stable\.html")
"""The page of all builds, of which pip takes those for CUDA: ``+cu118`` is a later version than ``+cpu`` and none."""
_CUDA_PAGE = re.compile(r"(?<=/whl/torch-)\d[\d.]*(?:\+|%2[Bb])cu\d{2,3}(?=\.html)")


def _torch_without_torch_npu(node: object, file: object) -> Iterator[Finding]:
    """torch-npu is required alongside torch, as a matching pair of versions.

    Each torch-npu release is built for one torch release; its package requires exactly that. The pair is that of the
    target release, which ``--torch-npu`` selects.

    Before::

        torch>=1.13
        tqdm

    After::

        torch==2.14.0
        torch-npu==2.14.0
        tqdm
    """
    raise NotImplementedError


TORCH = list_rule(
    Rule(
        "NPU601",
        "torch-without-torch-npu",
        Safety.SAFE,
        Severity.ERROR,
        Evidence.PACKAGE,
        "METADATA of the torch-npu wheel: Requires-Dist",
        (),
        (),
        _torch_without_torch_npu,
        example_file="requirements.txt",
    )
)


def _torch_companion_version(node: object, file: object) -> Iterator[Finding]:
    """torchvision and torchaudio get the version that matches the target torch, where another is required.

    Before::

        torch==2.14.0
        torch-npu==2.14.0
        torchvision==0.16.0+cu118

    After::

        torch==2.14.0
        torch-npu==2.14.0
        torchvision==0.29.0
    """
    raise NotImplementedError


COMPANION = list_rule(
    Rule(
        "NPU602",
        "torch-companion-version",
        Safety.SAFE,
        Severity.ERROR,
        Evidence.PACKAGE,
        "METADATA of the torchvision and torchaudio wheels",
        (),
        (),
        _torch_companion_version,
        example_file="requirements.txt",
    )
)


def _cuda_wheel_index(node: object, file: object) -> Iterator[Finding]:
    """An index of CUDA builds of torch; torch-npu needs the CPU builds, which the same site has.

    Before::

        --extra-index-url https://wheels.example/whl/cu118
        tqdm

    After::

        --extra-index-url https://wheels.example/whl/cpu
        tqdm
    """
    raise NotImplementedError


INDEX = list_rule(
    Rule(
        "NPU603",
        "cuda-wheel-index",
        Safety.SAFE,
        Severity.ERROR,
        Evidence.DOCUMENTED,
        "PyTorch's installation page: the layout of its indexes; Ascend/pytorch README",
        (),
        (),
        _cuda_wheel_index,
        example_file="requirements.txt",
    )
)


def judge_torch(file: DependencyFile) -> Iterator[Finding]:
    """What has to change for torch and what belongs to it."""
    if file.is_for_other_devices:
        return
    npu = file.named("torch-npu")
    if not npu and file.with_paddle:
        yield from _beside_paddle(file)
        return
    if not npu:
        yield from _torch(file)
    elif not any(entry.specifier is not None and admits(entry.specifier, file.release.torch_npu) for entry in npu):
        # The project has a pair of its own for another release.
        return
    yield from _companions(file)


_CUDA_BUILD = re.compile(r"\+cu\d+")


def _beside_paddle(file: DependencyFile) -> Iterator[Finding]:
    """torch beside PaddlePaddle computes on the CPU, since each of the two plug-ins opens the NPU."""
    for entry in file.named(*_TORCH, *_COMPANIONS):
        specifier = entry.specifier or ""
        is_build = _CUDA_BUILD.search(specifier) is not None
        yield file.report(
            TORCH if entry.name in _TORCH else COMPANION,
            entry,
            phrase(
                "{name} computes on the CPU here: the programs beside this file are PaddlePaddle's, and torch_npu and "
                "Paddle's plug-in cannot share a process",
                name=entry.name,
            ),
            spots=[file.version(entry, _CUDA_BUILD.sub("", specifier))] if is_build else None,
            severity=Severity.ERROR if is_build else Severity.INFO,
            subject=entry.name,
            advice="require torch-npu with it only in an environment without Paddle's plug-in",
            evidence=Evidence.REPORTED,
            source="PaddlePaddle/PaddleX#5027: a second aclInit in one process fails",
        )


def judge_indexes(file: DependencyFile) -> Iterator[Finding]:
    """Addresses of CUDA builds."""
    if file.is_for_other_devices:
        return
    for pattern, after, safety in (
        (_CUDA_PATH, "cpu", Safety.SAFE),
        (_CUDA_BACKEND, "cpu", Safety.SAFE),
        (_WHOLE_PAGE, "cpu/torch_stable.html", Safety.SAFE),
        (_CUDA_PAGE, f"{file.release.torch}+cpu", Safety.REVIEW),
    ):
        for match in pattern.finditer(file.document.text):
            if _in_comment(file, match.start()) or _is_wheel(file, match.end()):
                continue
            before = file.document.text[max(0, match.start() - 60) : match.start()]
            if pattern is _CUDA_PATH and _OF_OTHERS.search(before):
                continue
            names = "lists, among others," if pattern is _WHOLE_PAGE else "names"
            yield file.report(
                INDEX,
                match.span(),
                phrase("{group} {names} CUDA builds; torch-npu needs the CPU builds", group=match.group(), names=names),
                spots=[Spot(*match.span(), after)],
                safety=safety,
                subject=match.group(),
            )
    # Where vLLM decides torch, no torch-npu is written here: its plug-in's call names its own indexes.
    decided = file.with_paddle or file.vllm.required or file.vllm.target
    if file.named("torch") and (file.named("torch-npu") or not decided):
        for match in _ONLY_INDEX.finditer(file.document.text):
            if not _in_comment(file, match.start()):
                yield file.report(
                    INDEX,
                    match.span(),
                    phrase("{group} replaces all other indexes, and this one has no torch-npu", group=match.group()),
                    spots=[Spot(*match.span(), "--extra-index-url")],
                    safety=Safety.SAFE,
                    subject=match.group(),
                )


def _in_comment(file: DependencyFile, at: int) -> bool:
    text = file.document.text
    start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    return re.search(r"(?:^|\s)#", text[start:at]) is not None


def _is_wheel(file: DependencyFile, at: int) -> bool:
    """Whether the address is that of one wheel, whose version stands in its name."""
    return re.match(r"/[^\s\"']*\.whl", file.document.text[at : at + 300]) is not None


def _torch(file: DependencyFile) -> Iterator[Finding]:
    found = [entry for entry in file.named(*_TORCH) if entry.name == "torch" or entry.dialect == "conda"]
    conda = [entry for entry in found if entry.dialect == "conda"]
    if conda:
        yield _from_conda(file, conda)
        return
    has_main = any(entry.is_main for entry in found)
    served: set[tuple[str, str]] = set()
    for entry in found:
        key = (entry.group, entry.marker)
        needs_npu = (entry.is_main or not has_main) and key not in served
        served.add(key)
        spots: list[Spot | None] = []
        if entry.specifier is None or f"=={file.release.torch}" != entry.specifier:
            spots.append(file.version(entry, f"=={file.release.torch}"))
        if needs_npu:
            spots += _added(entry, requirement(entry, "torch-npu", file.release.torch_npu))
        if spots:
            yield file.report(TORCH, entry, _reason(file, entry), spots=spots, subject="torch", advice=_ADVICE)


_ADVICE = "require this torch and this torch-npu together"


def _reason(file: DependencyFile, entry: Entry) -> str:
    pair = phrase(
        "torch-npu {torch_npu} requires torch {torch}", torch_npu=file.release.torch_npu, torch=file.release.torch
    )
    if entry.specifier and not admits(entry.specifier, file.release.torch):
        return phrase(
            "{pair}; the project requires {written}, so check what changed in between",
            pair=pair,
            written=file.written(entry),
        )
    return pair


def _added(entry: Entry, text: str) -> list[Spot | None]:
    if entry.following is None:
        return [None]
    return [spot._replace(text=spot.text.format(text)) for spot in entry.following]


def _from_conda(file: DependencyFile, torch: list[Entry]) -> Finding:
    """conda's own torch has no torch-npu: the pair, and what belongs to torch, is left to pip."""
    from npuify.knowledge.third_party.dependencies import companions

    versions = companions(file.release.torch)
    beside = [entry for entry in file.named(*_COMPANIONS) if entry.dialect == "conda"]
    items = [f"torch=={file.release.torch}", f"torch-npu=={file.release.torch_npu}"]
    spots: list[Spot | None] = [entry.removal for entry in torch]
    for entry in beside:
        version = getattr(versions, entry.name, "")
        if version:
            items.append(f"{entry.name}=={version}")
            spots.append(entry.removal)
    place = file.document.pip_list
    if place is not None:
        head, _, item = place.text.rpartition("\0")
        lines = "".join(item.format(text) for text in items)
        spots.append(place._replace(text=head + lines))
    else:
        spots.append(None)
    return file.report(
        TORCH,
        torch[0],
        phrase("{reason}, and is built for the torch that pip installs", reason=_reason(file, torch[0])),
        spots=spots,
        subject="torch",
        advice=_ADVICE,
    )


def _companions(file: DependencyFile) -> Iterator[Finding]:
    from npuify.knowledge.third_party.dependencies import companions

    versions = companions(file.release.torch)
    for entry in file.named(*_COMPANIONS):
        version = getattr(versions, entry.name, "")
        if entry.dialect == "conda" and version and file.named("pytorch", "torch"):
            continue  # moves together with torch
        if versions is None or not version:
            yield file.report(
                COMPANION,
                entry,
                phrase("no {name} release for torch {torch} is known", name=entry.name, torch=file.release.torch),
                severity=Severity.WARNING,
                subject=entry.name,
                advice="build it against this torch, or target a torch_npu release that has one"
                if entry.name == "torchaudio"
                else "find the release that was built for this torch",
                source=versions.source if versions else "",
            )
            continue
        is_cuda_build = re.search(r"\+cu\d", entry.specifier or "") is not None
        if entry.specifier is not None and not is_cuda_build and admits(entry.specifier, version):
            continue
        yield file.report(
            COMPANION,
            entry,
            phrase(
                "{name} {version} belongs to torch {torch}; {written} does not",
                name=entry.name,
                version=version,
                torch=file.release.torch,
                written=file.written(entry),
            ),
            spots=[file.version(entry, f"=={version}")],
            evidence=versions.evidence,
            source=versions.source,
            subject=entry.name,
        )
