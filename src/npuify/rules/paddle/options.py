"""Options of programs on PaddlePaddle, as launchers give them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.paddle.settings import OFF, npu_switch
from npuify.rules.text_file import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.model import Finding
    from npuify.rules.text_file import Replacement, TextFile
    from npuify.source.shell import Word

_DEVICE = re.compile(r"(?:--|.*\.)?(?:device|place)")
_GPU = re.compile(r"(gpu|cuda)(?::\d+(?:,\d+)*)?")
_BACKEND = re.compile(r"(?:--|.*\.)?(?:dist[_-])?backend")
_SWITCH = re.compile(r"(?P<prefix>--|(?:.*\.)?)use_gpu")
_OF_TENSORRT = re.compile(r"(?:--|.*\.)?use_(?:tensorrt|trt)")
_CARDS = re.compile(r"--(?P<word>gpus|selected_gpus)(?:=.*)?", re.DOTALL)
_LAUNCHERS = frozenset(("paddle.distributed.launch", "paddle.distributed.fleet.launch", "fleetrun"))
PROGRAMS = frozenset(("paddleocr", "paddlex", "paddledet", "paddleclas", "paddleseg", "paddlespeech", "paddlenlp"))
"""Commands that Paddle's packages bring."""


@listed(
    "NPU951",
    "paddle-gpu-option",
    Safety.REVIEW,
    example_file="train.sh",
    evidence=Evidence.DOCUMENTED,
    source="PaddlePaddle/PaddleX: docs/other_devices_support/; PaddleOCR: tools/program.py",
)
def OPTION(node: object, file: object) -> Iterator[Finding]:  # noqa: N802 - the decorator makes it a rule
    """A launcher gives a program on PaddlePaddle a GPU; an NPU is the device ``npu``.

    Programs that have ``use_gpu`` and ``use_npu`` need both: ``use_gpu`` has to be false, since it is asked first.

    With train.py::

        import argparse
        import paddle

        parser = argparse.ArgumentParser()
        parser.add_argument("--device", default="cpu")
        paddle.set_device(parser.parse_args().device)

    Before::

        python train.py --device gpu:0

    After::

        python train.py --device npu:0
    """
    raise NotImplementedError


@listed(
    "NPU953",
    "paddle-launcher-cards",
    Safety.SAFE,
    Severity.WARNING,
    example_file="train.sh",
    evidence=Evidence.PACKAGE,
    source="paddlepaddle 3.0.0 and 3.3.1: paddle/distributed/launch/context/args_envs.py",
)
def CARDS(node: object, file: object) -> Iterator[Finding]:  # noqa: N802
    """Paddle's launcher is told its cards by ``--gpus``, which is another spelling of ``--npus`` and ``--devices``.

    ``--selected_gpus`` belonged to the launcher of Paddle 1, which is gone.

    Before::

        python -m paddle.distributed.launch --gpus 0,1 train.py

    After::

        python -m paddle.distributed.launch --npus 0,1 train.py
    """
    raise NotImplementedError


def starts_paddle(words: Sequence[Word]) -> bool:
    """Whether a command is one that Paddle's packages bring."""
    return bool(words) and words[0].value.rpartition("/")[2] in PROGRAMS


def judge_paddle_launcher(words: Sequence[Word], file: TextFile) -> None:
    """Report the cards that Paddle's launcher is given."""
    at = next((at for at, word in enumerate(words) if word.value in _LAUNCHERS), -1)
    for word in words[at + 1 :] if at >= 0 else ():
        if word.value.endswith(".py"):
            return  # what follows are options of the program
        match = _CARDS.fullmatch(word.value)
        if match is None:
            continue
        span = word.span(*match.span("word"))
        is_old = match["word"] == "selected_gpus"
        file.report(
            CARDS,
            (word.start, word.end),
            "the launcher of Paddle 1 is gone, and its option --selected_gpus with it"
            if is_old
            else "--gpus and --npus are one option of Paddle's launcher",
            edits=[(*span, "devices" if is_old else "npus") if span is not None else None],
            safety=Safety.REVIEW if is_old else None,
            severity=None if is_old else Severity.INFO,
            subject="paddle: --gpus",
        )


def _knows_npu(program: str, file: TextFile) -> bool | None:
    """Whether a program has ``use_npu`` beside ``use_gpu``; None where that cannot be told."""
    project = file.run.project
    if program and program in project.files_with(b"use_gpu"):
        return program in project.files_with(b"use_npu")
    if program and not project.files_with(b"use_gpu"):
        return None
    return npu_switch(program or file.relative, project)


def judge_paddle_options(words: Sequence[Word], program: str, file: TextFile) -> None:
    """Report the options of a program on PaddlePaddle that name a GPU.

    Args:
        words: the command.
        program: the project's own program that it starts; empty for one of Paddle's.
        file: gets the findings.
    """
    for before, word in zip(words, words[1:], strict=False):
        option, _, value = word.value.rpartition("=")
        joined = bool(option)
        if not option:
            option = before.value
        if _DEVICE.fullmatch(option) and (match := _GPU.fullmatch(value)) is not None:
            first = len(word.value) - len(value)
            span = word.span(first, first + match.end(1))
            file.report(
                OPTION,
                (word.start, word.end),
                phrase("{option} names the device gpu; that of an NPU is npu", option=option),
                edits=[(*span, "npu") if span is not None else None],
                subject="paddle: gpu",
            )
        elif _BACKEND.fullmatch(option) and value in ("nccl", "NCCL"):
            span = word.span(len(word.value) - len(value), len(word.value))
            file.report(
                OPTION,
                (word.start, word.end),
                phrase("{option} names NCCL; PaddlePaddle calls the collective back end of an NPU xccl", option=option),
                edits=[(*span, "xccl" if value.islower() else "XCCL") if span is not None else None],
                subject="paddle: nccl",
            )
        elif (switch := _SWITCH.fullmatch(option)) is not None and value in OFF:
            is_ocr = not program and words[0].value.rpartition("/")[2] == "paddleocr"
            known = True if is_ocr else _knows_npu(program, file)  # PaddleOCR 2 has both; 3 has neither
            if known is not False:
                _switch(words, word, switch["prefix"], value, joined=joined, is_sure=known is True, file=file)
        elif _OF_TENSORRT.fullmatch(option) and value in OFF:
            file.report(
                OPTION,
                (word.start, word.end),
                phrase("{option}: TensorRT has no build for Ascend", option=option),
                severity=Severity.WARNING,
                subject="paddle: TensorRT",
                advice="leave it out",
            )


def _switch(
    words: Sequence[Word], word: Word, prefix: str, value: str, *, joined: bool, is_sure: bool, file: TextFile
) -> None:
    span = word.span(len(word.value) - len(value), len(word.value))
    known = any(re.fullmatch(r".*use_npu(?:=.*)?", one.value) for one in words)
    added = f" {prefix}use_npu{'=' if joined else ' '}{value}"
    edits: list[Replacement | None] = [(*span, OFF[value]) if span is not None else None]
    if not known:
        edits.append((word.end, word.end, added))
    file.report(
        OPTION,
        (word.start, word.end),
        "use_gpu needs a Paddle with CUDA",
        edits=edits if is_sure else (),
        severity=Severity.ERROR,
        subject="paddle: use_gpu",
        advice="set use_gpu to false and use_npu to true, both: inference asks use_gpu first",
    )
