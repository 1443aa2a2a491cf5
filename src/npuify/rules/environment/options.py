"""Options that name a device or a backend, on command lines and in variables that hold parts of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from npuify.analysis.flow.device_names import DEVICE_NAME, FOREIGN_VARIABLE
from npuify.language import commas, phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.backend_words import BACKEND_WORD
from npuify.rules.environment.overrides import override_use
from npuify.rules.text_file import listed
from npuify.source.shell import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from npuify.model import Finding
    from npuify.rules.program_options import ProgramOptions
    from npuify.rules.text_file import TextFile
    from npuify.source.shell import Word

USE_UNKNOWN = "how the variable is used cannot be determined here"
_IN_TORCH = "torch/distributed; torch_npu registers the backend hccl and the device npu"


@listed("NPU704", "nccl-option", Safety.SAFE, evidence=Evidence.PACKAGE, source=_IN_TORCH)
def NCCL(node: object, file: object) -> Iterator[Finding]:  # noqa: N802 - the decorator makes it a rule
    """A launcher selects the NCCL backend; Ascend's collective communication library is HCCL.

    The option's declaration in the project's Python code and comparisons with its value change with it.

    Before::

        torchrun --nproc_per_node=8 train.py --dist-backend nccl

    After::

        torchrun --nproc_per_node=8 train.py --dist-backend hccl
    """
    raise NotImplementedError


@listed("NPU705", "cuda-device-option", Safety.SAFE, evidence=Evidence.PACKAGE, source=_IN_TORCH)
def DEVICE(node: object, file: object) -> Iterator[Finding]:  # noqa: N802
    """A launcher passes the name of a CUDA device to a program.

    The edit is safe only where the project's own program declares the option.

    With train.py::

        import argparse
        import torch

        parser = argparse.ArgumentParser()
        parser.add_argument("--device", default="cuda")
        model = torch.nn.Linear(2, 2).to(parser.parse_args().device)

    Before::

        python train.py --device cuda:0 --out cuda.txt

    After::

        python train.py --device npu:0 --out cuda.txt
    """
    raise NotImplementedError


@listed(
    "NPU706",
    "option-value-not-taken",
    Safety.MANUAL,
    Severity.ERROR,
    evidence=Evidence.PACKAGE,
    source="the program's own declaration of the option",
)
def NOT_TAKEN(node: object, file: object) -> Iterator[Finding]:  # noqa: N802
    """A launcher and the program that it starts disagree: the program's choices lack the NPU's value."""
    raise NotImplementedError


@listed(
    "NPU707",
    "gpus-counted-by-launcher",
    Safety.REVIEW,
    evidence=Evidence.PACKAGE,
    source="torch/distributed/run.py: gpu queries torch.cuda, and the backend's own name queries the backend",
)
def COUNTED(node: object, file: object) -> Iterator[Finding]:  # noqa: N802
    """``--nproc_per_node=gpu`` makes torchrun count CUDA devices; the NPU's name makes it count NPUs.

    Before::

        torchrun --nproc_per_node=gpu train.py

    After::

        torchrun --nproc_per_node=npu train.py
    """
    raise NotImplementedError


_CUDA = re.compile(rf"cuda(?::(?:\d+|{UNKNOWN}|\$?\{{[^{{}}]*\}}))?")
_NCCL = re.compile(r"nccl|NCCL")
_PAIRED = re.compile(r"(?:\w+:\w+,)*cuda:nccl(?:,\w+:\w+)*")
_OPTION = re.compile(r"--?[A-Za-z][\w.-]*|\+{0,2}[A-Za-z_][\w./@]*(?==)")
NEAR_BACKEND = re.compile(r"(?i)dist|comm|ddp|fsdp|collective|parallel|sync|transport")
"""Names under which ``nccl`` is likely a backend; under others, such as ``tags``, it is a word."""
COUNTING = frozenset(("--nproc_per_node", "--nproc-per-node"))


class Pair(NamedTuple):
    """An option and the value that follows it, whether by ``=`` or as the next word."""

    option: str
    value: Word


def pairs(words: Sequence[Word]) -> Iterator[Pair]:
    """The options with a value on a command line; ``key=value`` counts as one, as Hydra's overrides are written."""
    before = ""
    for word in words:
        match = _OPTION.match(word.value)
        option = match.group() if match is not None else ""
        if option and word.value[len(option) : len(option) + 1] == "=":
            yield Pair(option, word.part(len(option) + 1, len(word.value)))
        elif before.startswith("-") and not option.startswith("-"):
            yield Pair(before, word)
        before = option if option == word.value else ""


def last_name(option: str) -> str:
    """``device_type`` of ``--device-type``, ``backend`` of ``distributed_training.distributed_backend``."""
    return re.split(r"[./@]", option.lstrip("-+"))[-1].replace("-", "_")


def counterpart(value: str) -> str:
    """What a device or backend is called on an NPU; empty where ``value`` names neither."""
    if _NCCL.fullmatch(value):
        return "HCCL" if value.isupper() else "hccl"
    if _PAIRED.fullmatch(value):
        return value.replace("cuda:nccl", "npu:hccl")
    return "npu" + value[4:] if _CUDA.fullmatch(value) else ""


def is_backend(value: str) -> bool:
    return "nccl" in value.lower()


def judge_pair(pair: Pair, program: str, options: ProgramOptions, file: TextFile) -> None:
    """Report an option whose value names a device or a backend.

    Args:
        pair: the option.
        program: the file that the command starts; empty where that is not known.
        options: of the project.
        file: where it stands.
    """
    value = pair.value.value
    if pair.option in COUNTING and value == "gpu":
        _counted(pair, file)
        return
    if FOREIGN_VARIABLE.fullmatch(pair.option):
        return
    new = counterpart(value)
    if not new:
        _migrated_already(pair, program, options, file)
        return
    name = last_name(pair.option)
    backend = is_backend(value)
    if not (BACKEND_WORD if backend else DEVICE_NAME).search(name) and not (backend and NEAR_BACKEND.search(name)):
        return
    folder = file.relative.rpartition("/")[0]
    if pair.option.startswith("-"):
        use = options.use(pair.option, value, new, program, folder)
    else:
        use = override_use(pair.option, value, new, program, options)
    if use is not None and file.run.plan.style == "auto":
        # The program that declares the option keeps CUDA's names, which transfer_to_npu translates when it runs.
        return
    shown = value.replace(UNKNOWN, "…")
    if use is not None and not use.will_take:
        file.report(
            NOT_TAKEN,
            (pair.value.start, pair.value.end),
            phrase(
                "{option} accepts {choices} ({place}), but not {new}",
                option=pair.option,
                choices=commas(use.choices),
                place=use.place,
                new=new.replace(UNKNOWN, "…"),
            ),
            subject=pair.option,
            advice=phrase("add {new} to the choices there, then pass it here", new=new.replace(UNKNOWN, "…")),
        )
        return
    safety = Safety.REVIEW
    if use is not None:
        safety = Safety.SAFE if use.safety is Safety.SAFE else Safety.REVIEW
    elif backend and BACKEND_WORD.search(name):
        safety = Safety.SAFE
    declared = phrase(", declared in {place}", place=use.place) if use is not None else ""
    advice = "" if use is not None or safety is Safety.SAFE else "no program of the project declares this option"
    file.report(
        NCCL if backend else DEVICE,
        (pair.value.start, pair.value.end),
        phrase("{option} names NCCL{declared}; on the NPU it is HCCL", option=pair.option, declared=declared)
        if backend
        else phrase(
            "{option} names the CUDA device {shown}{declared}", option=pair.option, shown=shown, declared=declared
        ),
        edits=[renaming(pair.value)],
        safety=safety,
        severity=Severity.ERROR if safety is Safety.SAFE or backend else Severity.WARNING,
        subject="nccl" if backend else "cuda",
        advice=advice,
    )


def judge_name(name: str, place: tuple[int, int], value: str, options: Iterable[str], file: TextFile) -> None:
    """Report a variable that holds the name of a device or a backend, where its name or its use says that it is one.

    Args:
        name: of the variable.
        place: of its value.
        value: a device or a backend.
        options: the last names of the options that the variable is the value of.
        file: where it stands.
    """
    backend = is_backend(value)
    word = BACKEND_WORD if backend else DEVICE_NAME
    named = word.search(name) is not None
    used = any(word.search(option) for option in options)
    if not named and not used and not (backend and NEAR_BACKEND.search(name)):
        return
    proven = used or (backend and named)
    file.report(
        NCCL if backend else DEVICE,
        place,
        phrase("{name} names NCCL; on the NPU it is HCCL", name=name)
        if backend
        else phrase("{name} names the CUDA device {value}", name=name, value=value),
        edits=[(*place, counterpart(value))],
        safety=Safety.SAFE if proven else Safety.REVIEW,
        severity=Severity.ERROR if proven else Severity.WARNING,
        subject="nccl" if backend else "cuda",
        advice="" if proven else USE_UNKNOWN,
    )


_OF_NPU = re.compile(r"(npu)(?::\d+)?|(hccl)", re.IGNORECASE)


def _migrated_already(pair: Pair, program: str, options: ProgramOptions, file: TextFile) -> None:
    """A launcher that passes the name of an NPU to a program whose choices lack it."""
    match = _OF_NPU.fullmatch(pair.value.value)
    if match is None or not pair.option.startswith("-"):
        return
    former = f"cuda{pair.value.value[3:]}" if match.group(1) else "nccl"
    use = options.use(pair.option, former, pair.value.value, program, file.relative.rpartition("/")[0])
    if use is None or not use.choices or pair.value.value in use.choices or (use.takes and use.will_take):
        return
    file.report(
        NOT_TAKEN,
        (pair.value.start, pair.value.end),
        phrase(
            "{option} accepts {choices} ({place}), but not {value}",
            option=pair.option,
            choices=commas(use.choices),
            place=use.place,
            value=pair.value.value,
        ),
        subject=pair.option,
        advice=phrase("add {value} to the choices there", value=pair.value.value),
    )


def renaming(word: Word) -> tuple[int, int, str] | None:
    """The edit that puts the NPU's name for a device or backend into a word; None where it is written in pieces."""
    value = word.value
    if _PAIRED.fullmatch(value) or _NCCL.fullmatch(value):
        span = word.span(0, len(value))
        return (*span, counterpart(value)) if span is not None else None
    span = word.span(0, 4)
    return (*span, "npu") if span is not None and value[:4] == "cuda" else None


def _counted(pair: Pair, file: TextFile) -> None:
    span = pair.value.span(0, 3)
    # torchrun was seen to ask for the backend's name from 2.6 on; it knows it since torch imports torch_npu by itself.
    major, minor = (int(part) for part in file.release.torch_npu.split(".")[:2])
    knows = (major, minor) >= (2, 6)
    file.report(
        COUNTED,
        (pair.value.start, pair.value.end),
        phrase("{option}=gpu counts CUDA devices", option=pair.option),
        edits=[(*span, "npu")] if span is not None and knows else (),
        subject=pair.option,
        advice="write the number of NPUs if torchrun does not accept the name npu",
    )
