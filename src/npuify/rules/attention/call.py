"""One call of attention under rewriting: its arguments, and the text of the call that takes its place.

The meaning of each argument is that of flash_attn's docstrings and of the operator's documentation in
``torch_npu/_op_plugin_docs.py``: layouts, ``scale`` (1.0 unless given), ``keep_prob``, ``atten_mask`` (True is masked
out), ``pse`` with ``pse_type=0`` (added after scaling), ``sparse_mode`` (2 causal from the upper left, 3 causal from
the lower right, 4 a band from the lower right, each with a triangular mask of 2048x2048), cumulative lengths without
the leading 0, and the attention as first output.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from npuify.language import commas, phrase
from npuify.model import Safety
from npuify.rules.attention.text import is_off, is_primary, is_repeatable, joined, laid_out
from npuify.rules.common.torch_npu_import import can_import_torch_npu
from npuify.source.python import dotted_text

if TYPE_CHECKING:
    from npuify.rules.context import PythonFile

OPERATOR = "torch_npu.npu_fusion_attention"
WITH_BIAS = "torch_npu.npu_fusion_attention_v2"
"""Its ``pse_type=0`` adds a bias to the scores after they are scaled, as flash_attn and xformers do."""
_NO_DEVICE_CHANGE = frozenset(("contiguous", "half", "bfloat16", "float", "to", "type"))
_KEYWORDS = (
    "pse",
    "pse_type",
    "pre_tokens",
    "next_tokens",
    "atten_mask",
    "scale",
    "keep_prob",
    "pre_tockens",
    "next_tockens",
    "actual_seq_qlen",
    "actual_seq_kvlen",
    "sparse_mode",
)


class Plan(NamedTuple):
    """The call to write, or why there is none. ``conditions`` say when a ``review`` edit is wrong."""

    text: str = ""
    refusal: str = ""
    conditions: tuple[str, ...] = ()

    @property
    def safety(self) -> Safety:
        return Safety.REVIEW if self.conditions else Safety.SAFE


class Refused(Exception):
    """There is no provable form; the message says what stands in the way."""


class AttentionCall:
    """One call under rewriting."""

    def __init__(self, call: ast.Call, file: PythonFile) -> None:
        self.call = call
        self.file = file
        self.conditions: list[str] = []
        self.given: dict[str, ast.expr] = {}

    def check_product(self) -> None:
        product = self.file.product
        if product is not None and not product.fused_attention:
            raise Refused(
                phrase(
                    "{title} has no fused attention; torch.nn.functional.scaled_dot_product_attention "
                    "computes attention operator by operator",
                    title=product.title,
                )
            )

    def bind(self, order: tuple[str, ...], by_keyword: set[str]) -> None:
        """Arguments by name; positions beyond ``order`` differ between releases of the library."""
        call = self.call
        if any(isinstance(arg, ast.Starred) for arg in call.args) or any(item.arg is None for item in call.keywords):
            raise Refused("arguments are passed by * or **, so they cannot be determined")
        if len(call.args) > len(order):
            raise Refused(
                phrase(
                    "arguments after {order} are passed by position, and their meaning depends on the release",
                    order=order[-1],
                )
            )
        self.given = dict(zip(order, call.args, strict=False))
        for item in call.keywords:
            if item.arg is None or item.arg in self.given or item.arg not in {*order, *by_keyword}:
                raise Refused(phrase("the argument {arg} is unknown", arg=item.arg))
            self.given[item.arg] = item.value
        optional = ("dropout_p", "softmax_scale", "causal", "attn_bias", "p", "scale", "bias")
        missing = [name for name in order if name not in self.given and name not in optional]
        if missing:
            raise Refused(phrase("the argument {missing} is not passed", missing=missing[0]))
        for node in ast.walk(call):
            if isinstance(node, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)):
                raise Refused("an argument has side effects; assign it to a name first")

    def text(self, name: str) -> str:
        node = self.given[name]
        text = self.file.code(node)
        return f"({text})" if isinstance(node, ast.GeneratorExp) and not text.startswith("(") else text

    def shape_of(self, node: ast.expr) -> tuple[str, dict[int, int]]:
        """An expression to ask for the shape of ``node``, and where its axes stand there."""
        if is_repeatable(node):
            return self.file.code(node), {}
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            inner, method = node.func.value, node.func.attr
            plain = not node.keywords and not any(isinstance(arg, ast.Starred) for arg in node.args)
            if method == "transpose" and plain and is_repeatable(inner) and len(node.args) == 2:
                first, second = (arg.value if isinstance(arg, ast.Constant) else None for arg in node.args)
                if isinstance(first, int) and isinstance(second, int) and {first, second} in ({0, 1}, {1, 2}):
                    return self.file.code(inner), {first: second, second: first}
            if method in _NO_DEVICE_CHANGE and plain and all(self._is_dtype(arg) for arg in node.args):
                return self.shape_of(inner)
        raise Refused("the shape of the queries is needed as well; assign them to a name first")

    def _is_dtype(self, node: ast.expr) -> bool:
        name = self.file.qualname(node) or dotted_text(node) or ""
        return name.startswith(("torch.float", "torch.bfloat", "torch.half")) or name.endswith(".dtype")

    def scale(self, name: str, shaped: str) -> str:
        default = f"{shaped}.shape[-1] ** -0.5"
        node = self.given.get(name)
        if node is None or (isinstance(node, ast.Constant) and node.value is None):
            return default
        text = self.file.code(node)
        if self._is_number(node):
            return text
        if dotted_text(node) is None:
            raise Refused(
                phrase("{name} may be None, which means a different scale there; assign it to a name first", name=name)
            )
        return f"{default} if {text} is None else {text}"

    def _is_number(self, node: ast.expr, hops: int = 3) -> bool:
        """Whether an expression cannot be None: a number, arithmetic, or a name that only such things are bound to."""
        if isinstance(node, ast.Constant):
            return isinstance(node.value, (int, float))
        if isinstance(node, (ast.BinOp, ast.UnaryOp)):
            return True
        if isinstance(node, ast.Call):
            name = self.file.qualname(node.func) or dotted_text(node.func) or ""
            return name in ("float", "math.sqrt", "math.pow")
        if isinstance(node, ast.IfExp):
            return self._is_number(node.body, hops) and self._is_number(node.orelse, hops)
        if isinstance(node, ast.Name) and hops:
            values = self.file.assigned(node)
            return bool(values) and all(value is not None and self._is_number(value, hops - 1) for value in values)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            return self._attribute_is_number(node.attr, hops)
        return False

    def _attribute_is_number(self, attribute: str, hops: int) -> bool:
        """Whether every ``self.attribute = …`` of the file assigns a number."""
        values = []
        for node in self.file.nodes_on_lines_with(attribute):
            if isinstance(node, ast.Attribute) and node.attr == attribute and not isinstance(node.ctx, ast.Load):
                parent = self.file.parent(node)
                if not isinstance(parent, ast.Assign) or node not in parent.targets:
                    return False
                values.append(parent.value)
        return bool(values) and all(
            self._is_number(value, hops - 1) and not isinstance(value, ast.Name) for value in values
        )

    def keep_prob(self, name: str) -> list[str]:
        node = self.given.get(name)
        if node is None or is_off(node):
            return []
        text = self.file.code(node)
        return [f"keep_prob=1 - {text if is_primary(node) else f'({text})'}"]

    def finish(self, arguments: list[str], *, biased: bool = False, behind: str = "") -> Plan:
        file, call = self.file, self.call
        operator = WITH_BIAS if biased else OPERATOR
        if biased:
            # The second form of the operator spells these two otherwise.
            arguments = [re.sub(r"^(pre|next)_tockens=", r"\1_tokens=", argument) for argument in arguments]
        signature = file.release.signature(operator)
        known = {parameter.name for parameter in (signature.parameters if signature else None) or ()}
        used = {argument.partition("=")[0] for argument in arguments if argument.partition("=")[0].isidentifier()}
        used &= {*_KEYWORDS}
        if not file.release.has(operator) or not used <= known:
            raise Refused(
                phrase(
                    "torch_npu {torch_npu} has no {operator} that takes {used}",
                    torch_npu=file.release.torch_npu,
                    operator=operator,
                    used=commas(sorted(used)),
                )
            )
        if any(isinstance(up, ast.JoinedStr) for up in file.ancestors(call)):
            raise Refused("the call is inside an f-string")
        text = laid_out(operator, arguments, behind, call, file)
        on_one_line = joined(operator, arguments, behind)
        if "#" in file.code(call):
            raise Refused(
                phrase(
                    "the call contains a comment, so it was left unchanged; write {on_one_line}",
                    on_one_line=on_one_line,
                )
            )
        if not can_import_torch_npu(file):
            raise Refused(
                phrase(
                    "import torch_npu at the top of the file first; then write {on_one_line}", on_one_line=on_one_line
                )
            )
        return Plan(text=text, conditions=tuple(self.conditions))
