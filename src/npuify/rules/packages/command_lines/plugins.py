"""Plug-ins that a command installs after the framework: vLLM's from the package index, Paddle's from its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.knowledge.frameworks.paddle import INDEX, WITH_PLUGIN
from npuify.language import commas, phrase
from npuify.rules.packages.paddle_set import WITHOUT_PLUGIN, paddle_version
from npuify.rules.packages.vllm_set import PLUGIN, second_call

if TYPE_CHECKING:
    from npuify.rules.text_file import Replacement, TextFile
    from npuify.source.pip_command import PipCommand

_PIP = re.compile(
    rb"(?:(?:sudo[ \t]+)?(?:[^\s(){};&|`]*python[\d.]*[ \t]+-m[ \t]+)?(?:uv[ \t]+)?[^\s(){};&|`]*\bpip[\d.]*)"
    rb"[^;&|\r\n]*?\binstall\b"
)
_OPTIONS = re.compile(rb"[ \t]--?(?:e|editable|r|requirement|U|upgrade|pre|c|constraint)\b")
_REDIRECTED = re.compile(
    rb"[ \t]*(?:\d*[<>]{1,2}&?|&>{1,2})(?:[<>]&|&>|\"[^\"\r\n]*\"|'[^'\r\n]*'|\\\r?\n|[^;&|#()\r\n\"'\\])*"
)
"""A redirection and what follows it in its command: a bound without quotes (``vllm>=0.4 tqdm``) is one to a shell."""
_OPENED = re.compile(rb"[ \t]*\d*[<>]\Z")
_PIPED = re.compile(rb"[ \t]*\|(?!\|)")
_VLLM = re.compile(rb"(?m)^\s*vllm\b(?:\[[\w,-]*\])?\s*(?P<specifier>[=<>!~][^\s;]*)?")
_PADDLE = re.compile(rb"(?m)^\s*paddlepaddle-gpu\b\s*(?P<specifier>[=<>!~][^\s;]*)?")


def judge_plugins(command: PipCommand, data: bytes, file: TextFile) -> None:
    """Report a framework that is installed without its plug-in for NPUs.

    Args:
        command: what ``pip install`` is given.
        data: the text in which it stands.
        file: gets the findings.
    """
    if b"vllm" in command.text:
        _judge_vllm(command, data, file)
    if b"paddlepaddle-gpu" in command.text:
        _judge_paddle(command, data, file)


def _judge_vllm(command: PipCommand, data: bytes, file: TextFile) -> None:
    found = _VLLM.search(command.text)
    if found is None or b"vllm-ascend" in data or b"vllm_ascend" in data:
        return
    choice = file.run.vllm.choice((found["specifier"] or b"").decode())
    row = choice.row
    edit = _behind(command, data, row.to_install) if row.installable and choice.fits else None
    file.report(
        PLUGIN,
        _place(command, found),
        phrase("vLLM {vllm} needs its plug-in for NPUs, which is installed after it", vllm=row.vllm[0])
        if choice.fits
        else phrase("{reason}; the nearest that is known is for vLLM {vllm}", reason=choice.reason, vllm=row.vllm[0]),
        edits=[edit],
        evidence=row.evidence,
        source=row.source,
        subject="vllm-ascend",
        advice=phrase(
            "after it: {second_call}; source CANN's set_env.sh and NNAL's atb/set_env.sh before",
            second_call=second_call(row),
        ),
    )


def _judge_paddle(command: PipCommand, data: bytes, file: TextFile) -> None:
    found = _PADDLE.search(command.text)
    if found is None or b"paddle-custom-npu" in data or b"paddle_custom_npu" in data:
        return
    version = paddle_version((found["specifier"] or b"").decode())
    wanted = f"paddle-custom-npu=={version} -i {INDEX}"
    file.report(
        WITHOUT_PLUGIN,
        _place(command, found),
        "PaddlePaddle needs its plug-in for NPUs, which is installed after it from Paddle's own index",
        edits=[_behind(command, data, wanted) if version in WITH_PLUGIN else None],
        subject="paddle-custom-npu",
        advice=phrase("after it: pip install {wanted}", wanted=wanted)
        if version in WITH_PLUGIN
        else phrase(
            "no plug-in is known for this version; those of {versions} are: "
            "pip install paddle-custom-npu==VERSION -i {index}",
            versions=commas(WITH_PLUGIN),
            index=INDEX,
        ),
    )


def _place(command: PipCommand, found: re.Match[bytes]) -> tuple[int, int]:
    start = command.start + found.start() + len(found.group()) - len(found.group().lstrip())
    return start, command.start + found.end()


def _behind(command: PipCommand, data: bytes, wanted: str) -> Replacement | None:
    """A second call of pip, as the first one is written; None where the command is not a line of a shell."""
    start = data.rfind(b"\n", 0, command.start) + 1
    calls = list(_PIP.finditer(data, start, command.start))
    # Quotes are blanks in the command's text: the last argument may end behind it.
    last = max((span[1] for span in command.arguments), default=0)
    end = max(command.start + len(command.text.rstrip(b" \t\r\n\\")), last)
    if not calls or command.is_words or b"\n" in data[command.start : end].replace(b"\\\n", b""):
        return None
    opened = _OPENED.search(data, command.start, end)
    end = opened.start() if opened is not None else end
    redirected = _REDIRECTED.match(data, end)
    if redirected is not None:
        end += len(redirected.group().rstrip(b" \t\r\n\\"))
    if _PIPED.match(data, end):
        return None
    call = _OPTIONS.sub(b"", calls[-1].group())
    return (end, end, f" && {call.decode()} {wanted}")
