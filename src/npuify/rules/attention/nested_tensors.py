"""Layers of torch that make nested tensors by themselves, which the NPU has no kernels for."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.calls import keyword_of
from npuify.rules.common.edits.call_edits import add_argument, has_unknown_arguments
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_LAYER: Final = "torch.nn.TransformerEncoderLayer"
_SWITCH: Final = "enable_nested_tensor"


@rule(
    "NPU512",
    "encoder-makes-nested-tensors",
    Safety.REVIEW,
    Severity.WARNING,
    words=("transformerencoder(",),
    also_in_file=("src_key_padding_mask",),
    evidence=Evidence.LIVE,
    source="torch_npu 2.13.0: aten::_to_copy is not implemented for NestedTensornpu; torch/nn/modules/transformer.py",
)
def encoder_makes_nested_tensors(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """In evaluation, ``TransformerEncoder`` takes padded positions out of a batch, as nested tensors, where it can.

    An NPU stops there. It does so with ``batch_first=True``, without gradients, and given ``src_key_padding_mask``;
    in training it never does. Without it, padded positions of the output hold what training gives them, not zeros.

    Before::

        from torch import nn
        layer = nn.TransformerEncoderLayer(8, 2, batch_first=True)
        encoder = nn.TransformerEncoder(layer, 6)
        def run(x, padding):
            return encoder(x, src_key_padding_mask=padding)

    After::

        from torch import nn
        layer = nn.TransformerEncoderLayer(8, 2, batch_first=True)
        encoder = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
        def run(x, padding):
            return encoder(x, src_key_padding_mask=padding)
    """
    if file.qualname(node.func) != "torch.nn.TransformerEncoder" or len(node.args) > 3:
        return
    if keyword_of(node, _SWITCH) is not None or has_unknown_arguments(node):
        return
    layer = node.args[0] if node.args else keyword_of(node, "encoder_layer")
    if layer is None or not _may_be_nested(layer, file):
        return
    yield file.report(
        node,
        "in evaluation this encoder makes nested tensors of padded batches, which stops on an NPU",
        edits=[add_argument(node, f"{_SWITCH}=False", file)],
        subject="torch.nn.TransformerEncoder",
        advice="pass enable_nested_tensor=False; padded positions of the output are then no zeros",
    )


def _may_be_nested(layer: ast.expr, file: PythonFile) -> bool:
    """Whether a layer is torch's own, and made so that its encoder takes padded positions out."""
    made = [layer]
    if isinstance(layer, (ast.Name, ast.Attribute)):
        made = [one for one in _bound(layer, file) if one is not None]
    for call in made:
        if not isinstance(call, ast.Call) or file.qualname(call.func) != _LAYER:
            continue
        first = call.args[6] if len(call.args) > 6 else keyword_of(call, "batch_first")
        if first is None or (isinstance(first, ast.Constant) and not first.value):
            continue
        if any(_is(keyword_of(call, name), value) for name, value in (("norm_first", True), ("bias", False))):
            continue
        return True
    return False


def _bound(node: ast.Name | ast.Attribute, file: PythonFile) -> list[ast.expr | None]:
    if isinstance(node, ast.Name):
        return list(file.assigned(node))
    return [
        one.value
        for one in file.nodes_on_lines_with(node.attr)
        if isinstance(one, ast.Assign)
        and any(isinstance(target, ast.Attribute) and target.attr == node.attr for target in one.targets)
    ]


def _is(node: ast.expr | None, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value
