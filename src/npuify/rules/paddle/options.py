"""Options of programs on PaddlePaddle, as launchers give them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.model import Evidence, Safety, Severity
from npuify.rules.text_file import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.model import Finding
    from npuify.rules.text_file import TextFile
    from npuify.source.shell import Word

_DEVICE = re.compile(r"(?:--|.*\.)?(?:device|place)")
_GPU = re.compile(r"(gpu)(?::\d+(?:,\d+)*)?")
_SWITCH = re.compile(r"(?:--|(?:.*\.)?)use_gpu")
_ON = frozenset(("True", "true", "1", "yes"))


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


def judge_paddle_options(words: Sequence[Word], file: TextFile) -> None:
    """Report the options of a program on PaddlePaddle that name a GPU."""
    for before, word in zip(words, words[1:], strict=False):
        option, _, value = word.value.rpartition("=")
        if not option:
            option = before.value
        if _DEVICE.fullmatch(option) and (match := _GPU.fullmatch(value)) is not None:
            first = len(word.value) - len(value)
            span = word.span(first, first + match.end(1))
            file.report(
                OPTION,
                (word.start, word.end),
                f"{option} names the device gpu; that of an NPU is npu",
                edits=[(*span, "npu") if span is not None else None],
                subject="paddle: gpu",
            )
        elif _SWITCH.fullmatch(option) and value in _ON:
            file.report(
                OPTION,
                (word.start, word.end),
                "use_gpu needs a Paddle with CUDA",
                severity=Severity.ERROR,
                subject="paddle: use_gpu",
                advice="set use_gpu to false and use_npu to true, both: inference asks use_gpu first",
            )
