"""Fourier transforms of real signals, which older programs get as pairs of real numbers."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_STFT: Final = frozenset(("torch.stft", "torch.functional.stft"))
_ARGUMENT: Final = "return_complex"
_BY_PLACE: Final = 9
"""``return_complex`` is the tenth argument of the function; programs that give it by place are new enough."""


@rule(
    "NPU680",
    "stft-in-pairs",
    Safety.SAFE,
    Severity.ERROR,
    words=("stft(",),
    evidence=Evidence.PACKAGE,
    source="torch.stft of torch 2.6 to 2.14: it requires the return_complex parameter be given for real inputs",
)
def stft_in_pairs(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """``torch.stft`` of a real signal raises RuntimeError since PyTorch 2.0 where it is not told ``return_complex``.

    Before, it gave pairs of real and imaginary parts in a last dimension, which ``torch.view_as_real`` gives today.
    ``return_complex=False`` still does that, with a warning.

    Before::

        import torch
        signal = torch.randn(1, 4000)
        spectrum = torch.stft(signal, 512, hop_length=128)
        magnitude = spectrum.pow(2).sum(-1).sqrt()

    After::

        import torch
        signal = torch.randn(1, 4000)
        spectrum = torch.view_as_real(torch.stft(signal, 512, hop_length=128, return_complex=True))
        magnitude = spectrum.pow(2).sum(-1).sqrt()
    """
    if file.qualname(node.func) not in _STFT or len(node.args) > _BY_PLACE or not node.args:
        return
    if any(keyword.arg in (None, _ARGUMENT) for keyword in node.keywords):
        return
    if any(isinstance(one, ast.Starred) for one in node.args):
        return
    start, end = file.source.start(node), file.source.end(node)
    given = max(file.source.end(one) for one in (*node.args, *node.keywords))
    torch = _torch(node.func, file)
    yield file.report(
        node,
        phrase("{stft} of a real signal raises RuntimeError without return_complex", stft="torch.stft"),
        edits=[
            file.edit(start, start, f"{torch}.view_as_real("),
            file.edit(given, given, f", {_ARGUMENT}=True"),
            file.edit(end, end, ")"),
        ]
        if torch
        else (),
        subject="torch.stft",
        advice="" if torch else "give return_complex=True, and take torch.view_as_real of the result",
    )


def _torch(name: ast.expr, file: PythonFile) -> str:
    """By which name a file has torch, from a name that starts with it."""
    while isinstance(name, ast.Attribute):
        if file.qualname(name.value) == "torch":
            return file.code(name.value)
        name = name.value
    return ""
