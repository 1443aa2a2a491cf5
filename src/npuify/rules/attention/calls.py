"""Calls of flash_attn and xformers as calls of ``torch_npu.npu_fusion_attention``, or why there is none.

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

from npuify.model import Safety
from npuify.rules.attention.forms import Form, form_of, is_memory_efficient_attention
from npuify.rules.attention.text import is_off, is_primary, is_repeatable, joined, laid_out, primary, triangle
from npuify.rules.torch_npu_import import can_import_torch_npu
from npuify.source.python import dotted_text
from npuify.source.types import TENSOR, infer

if TYPE_CHECKING:
    from npuify.rules.context import PythonFile

OPERATOR = "torch_npu.npu_fusion_attention"
WITH_BIAS = "torch_npu.npu_fusion_attention_v2"
"""Its ``pse_type=0`` adds a bias to the scores after they are scaled, as flash_attn and xformers do."""
UNLIMITED = 2147483647
_NO_DEVICE_CHANGE = frozenset(("contiguous", "half", "bfloat16", "float", "to", "type"))


_BEHIND_CAUSAL = {
    "window_size",
    "softcap",
    "alibi_slopes",
    "deterministic",
    "return_attn_probs",
    "block_table",
}
_WITHOUT_EQUIVALENT = {
    "softcap": "softcap: npu_fusion_attention cannot cap the scores",
    "return_attn_probs": "return_attn_probs: npu_fusion_attention does not give the probabilities",
    "block_table": "block_table: a paged cache is for torch_npu.npu_fused_infer_attention_score",
}


class Plan(NamedTuple):
    """The call to write, or why there is none. ``conditions`` say when a ``review`` edit is wrong."""

    text: str = ""
    refusal: str = ""
    conditions: tuple[str, ...] = ()

    @property
    def safety(self) -> Safety:
        return Safety.REVIEW if self.conditions else Safety.SAFE


class _Refused(Exception):
    """There is no provable form; the message says what stands in the way."""


def plan_of(call: ast.Call, file: PythonFile) -> Plan | None:
    """What becomes of a call; None for a call of anything else."""
    name = file.qualname(call.func)
    form = form_of(name)
    if form is None and not is_memory_efficient_attention(name):
        return None
    key = ("attention plan", call)
    plan: Plan | None = file.recall(key)
    if plan is None:
        try:
            package = (name or "").split(".")[0]
            modules = file.project.modules
            if package in modules or any(name.endswith("flash_attn.flash_attn_interface") for name in modules):
                raise _Refused(f"the project has a {package} of its own, whose functions may be others")
            made = _Call(call, file).flash(form) if form is not None else _Call(call, file).xformers()
        except _Refused as reason:
            made = Plan(refusal=str(reason))
        plan = file.remember(key, made)
    return plan


class _Call:
    """One call under rewriting."""

    def __init__(self, call: ast.Call, file: PythonFile) -> None:
        self.call = call
        self.file = file
        self.conditions: list[str] = []
        self.given: dict[str, ast.expr] = {}

    def _check_product(self) -> None:
        product = self.file.product
        if product is not None and not product.fused_attention:
            raise _Refused(
                f"{product.title} has no fused attention; torch.nn.functional.scaled_dot_product_attention computes it "
                "operator by operator"
            )

    def flash(self, form: Form) -> Plan:
        self._check_product()
        self._bind((*form.tensors, *form.lengths, *form.unused, *form.options), _BEHIND_CAUSAL)
        for name, reason in _WITHOUT_EQUIVALENT.items():
            if name in self.given and not is_off(self.given[name]):
                raise _Refused(reason)
        if "deterministic" in self.given and not is_off(self.given["deterministic"]):
            self.conditions.append("deterministic has no equivalent; call torch.use_deterministic_algorithms(True)")
        shaped, axes = self._shape_of(self.given[form.tensors[0]])
        tensors = [self._text(name) for name in form.tensors]
        if form.packed is not None:
            tensors[-1] = f"*{primary(self.given[form.tensors[-1]], tensors[-1])}.unbind({form.packed})"
        same_lengths = form.tensors == ("qkv",)
        lengths = [f"{primary(self.given[name], self._text(name))}[1:].tolist()" for name in form.lengths]
        if len(lengths) == 1 or (lengths and lengths[0] == lengths[1]):
            same_lengths, lengths = True, [lengths[0], lengths[0]]
        mask, sparse = self._mask(shaped, bool(form.lengths), same_lengths, form.causal_mode)
        heads = f"{shaped}.shape[{axes.get(form.heads, form.heads)}]"
        bias = self._bias(form, shaped, axes, heads)
        arguments = [*tensors, heads, f'"{form.layout}"', *bias, *mask]
        arguments += [f"scale={self._scale('softmax_scale', shaped)}", *self._keep_prob("dropout_p")]
        arguments += [
            f"{name}={value}" for name, value in zip(("actual_seq_qlen", "actual_seq_kvlen"), lengths, strict=False)
        ]
        return self._finish([*arguments, *sparse], biased=bool(bias))

    def _bias(self, form: Form, shaped: str, axes: dict[int, int], heads: str) -> list[str]:
        """The bias that is added to the scaled scores: one that is passed, or that of the ALiBi slopes."""
        if "bias" in self.given and not is_off(self.given["bias"]):
            self.conditions.append("the bias must have the shape (batch or 1, heads, queries, keys), and no gradient")
            return [f"pse={self._text('bias')}", "pse_type=0"]
        slopes = self.given.get("alibi_slopes")
        if slopes is None or is_off(slopes):
            return []
        if form.lengths:
            raise _Refused("alibi_slopes: for packed sequences the operator takes the bias of each one by one")
        if self.file.source.name_target("torch", self.file.scope(self.call)) != "torch":
            raise _Refused("alibi_slopes: torch is not imported by its name, and the bias is made with it")
        queries = f"{shaped}.shape[{axes.get(1, 1)}]"
        keys = queries
        if len(form.tensors) > 1:
            other, turned = self._shape_of(self.given[form.tensors[1]])
            keys = f"{other}.shape[{turned.get(1, 1)}]"
        if not is_repeatable(slopes):
            raise _Refused("alibi_slopes: assign the slopes to a name first")
        self.conditions.append("the bias takes the memory of heads times queries times keys")
        rows = keys if keys == queries else f"{keys} - {queries}, {keys}"
        here, there = (f"torch.arange({span}, device={shaped}.device)" for span in (rows, keys))
        distance = f"{there} - {here}[:, None]"
        slope = f"{self.file.code(slopes)}.reshape(-1, {heads}, 1, 1)"
        return [f"pse=(-{slope} * ({distance}).abs()).to({shaped}.dtype)", "pse_type=0"]

    def xformers(self) -> Plan:
        self._check_product()
        self._bind(("query", "key", "value", "attn_bias", "p", "scale"), {"op", "output_dtype"})
        if "output_dtype" in self.given and not is_off(self.given["output_dtype"]):
            raise _Refused("output_dtype: npu_fusion_attention gives the type of its inputs")
        self.conditions.append("the tensors must have 4 dimensions: batch, length, heads, head dimension")
        shaped, axes = self._shape_of(self.given["query"])
        blocks = self._blocks()
        if blocks is not None:
            return self._block_diagonal(shaped, axes, *blocks)
        bias = self._tensor_bias()
        mode = 0 if bias else self._bias_mode()
        mask = [*bias] if bias else [f"atten_mask={triangle(shaped)}"] if mode else []
        arguments = [self._text(name) for name in ("query", "key", "value")]
        arguments += [f"{shaped}.shape[{axes.get(2, 2)}]", '"BSND"', *mask]
        arguments += [f"scale={self._scale('scale', shaped)}", *self._keep_prob("p")]
        return self._finish([*arguments, *([f"sparse_mode={mode}"] if mode else [])], biased=bool(bias))

    def _tensor_bias(self) -> list[str]:
        """The argument for ``attn_bias`` where that is a tensor: xformers adds it after scaling."""
        node = self.given.get("attn_bias")
        if node is None or infer(node, self.file.source, self.file.scope(self.call)) != TENSOR:
            return []
        self.conditions.append("the bias must have the shape (batch or 1, heads, queries, keys), and no gradient")
        return [f"pse={self._text('attn_bias')}", "pse_type=0"]

    def _blocks(self) -> tuple[int, str, str] | None:
        """Sparse mode and lengths of a block-diagonal mask that is made in the call itself; None for anything else."""
        node = self.given.get("attn_bias")
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return None
        name, _, maker = (self.file.qualname(node.func) or "").rpartition(".")
        mode = _BLOCK_DIAGONAL.get(name.rpartition(".")[2])
        if maker != "from_seqlens" or mode is None or not name.startswith("xformers.ops"):
            return None
        given = dict(zip(("q_seqlen", "kv_seqlen"), node.args, strict=False))
        given |= {item.arg: item.value for item in node.keywords if item.arg in ("q_seqlen", "kv_seqlen")}
        starred = any(isinstance(item, ast.Starred) for item in node.args)
        if starred or len(given) != len(node.args) + len(node.keywords) or "q_seqlen" not in given:
            raise _Refused("attn_bias: the lengths of its blocks are passed otherwise than as two lists")
        if self.file.source.name_target("torch", self.file.scope(self.call)) != "torch":
            raise _Refused("attn_bias: torch is not imported by its name, and the ends of the blocks are made with it")
        queries = self.file.code(given["q_seqlen"])
        keys = given.get("kv_seqlen")
        return mode, queries, queries if keys is None or is_off(keys) else self.file.code(keys)

    def _block_diagonal(self, shaped: str, axes: dict[int, int], mode: int, queries: str, keys: str) -> Plan:
        """Blocks are packed sequences: the layout TND, of the one batch that xformers asks for."""
        if axes:
            raise _Refused("attn_bias: the tensors are transposed in the call; assign them to names first")
        if mode == 3 and queries != keys:
            self.conditions.append("no block may have more queries than keys")
        tensors = [f"{primary(self.given[name], self._text(name))}[0]" for name in ("query", "key", "value")]
        arguments = [*tensors, f"{shaped}.shape[2]", '"TND"', *([f"atten_mask={triangle(shaped)}"] if mode else [])]
        arguments += [f"scale={self._scale('scale', shaped)}", *self._keep_prob("p")]
        ends = [f"torch.tensor({lengths}).cumsum(0).tolist()" for lengths in (queries, keys)]
        arguments += [f"actual_seq_qlen={ends[0]}", f"actual_seq_kvlen={ends[1]}"]
        return self._finish([*arguments, *([f"sparse_mode={mode}"] if mode else [])], behind="[None]")

    # --- arguments ---

    def _bind(self, order: tuple[str, ...], by_keyword: set[str]) -> None:
        """Arguments by name; positions beyond ``order`` differ between releases of the library."""
        call = self.call
        if any(isinstance(arg, ast.Starred) for arg in call.args) or any(item.arg is None for item in call.keywords):
            raise _Refused("arguments are passed by * or **, so which ones cannot be seen")
        if len(call.args) > len(order):
            raise _Refused(f"arguments behind {order[-1]} are passed by position, and mean other things by release")
        self.given = dict(zip(order, call.args, strict=False))
        for item in call.keywords:
            if item.arg is None or item.arg in self.given or item.arg not in {*order, *by_keyword}:
                raise _Refused(f"the argument {item.arg} is not one that is known")
            self.given[item.arg] = item.value
        optional = ("dropout_p", "softmax_scale", "causal", "attn_bias", "p", "scale", "bias")
        missing = [name for name in order if name not in self.given and name not in optional]
        if missing:
            raise _Refused(f"the argument {missing[0]} is not passed")
        for node in ast.walk(call):
            if isinstance(node, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)):
                raise _Refused("an argument does more than give a value; assign it to a name first")

    def _text(self, name: str) -> str:
        node = self.given[name]
        text = self.file.code(node)
        return f"({text})" if isinstance(node, ast.GeneratorExp) and not text.startswith("(") else text

    def _shape_of(self, node: ast.expr) -> tuple[str, dict[int, int]]:
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
                return self._shape_of(inner)
        raise _Refused(
            "the shape of the queries is needed beside them; assign them to a name first, so that it can be asked"
        )

    def _is_dtype(self, node: ast.expr) -> bool:
        name = self.file.qualname(node) or dotted_text(node) or ""
        return name.startswith(("torch.float", "torch.bfloat", "torch.half")) or name.endswith(".dtype")

    def _scale(self, name: str, shaped: str) -> str:
        default = f"{shaped}.shape[-1] ** -0.5"
        node = self.given.get(name)
        if node is None or (isinstance(node, ast.Constant) and node.value is None):
            return default
        text = self.file.code(node)
        if self._is_number(node):
            return text
        if dotted_text(node) is None:
            raise _Refused(f"{name} may be None, which means another scale there; assign it to a name first")
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
            found = self.file.scope(self.call).lookup(node.id)
            return found is not None and all(
                item.kind == "assign" and item.value is not None and self._is_number(item.value, hops - 1)
                for item in found[1]
            )
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

    def _keep_prob(self, name: str) -> list[str]:
        node = self.given.get(name)
        if node is None or is_off(node):
            return []
        text = self.file.code(node)
        return [f"keep_prob=1 - {text if is_primary(node) else f'({text})'}"]

    # --- masks ---

    def _mask(self, shaped: str, variable: bool, same_lengths: bool, causal_mode: int) -> tuple[list[str], list[str]]:
        """The mask argument, and those that say what it means."""
        causal = self.given.get("causal")
        literal = causal.value if isinstance(causal, ast.Constant) else None if causal is not None else False
        if literal is not None and not isinstance(literal, bool):
            raise _Refused("causal is neither True nor False")
        left, right = self._window()
        if (left, right) != (-1, -1) and literal is None:
            raise _Refused("causal is only known when it runs, and changes what window_size means")
        if literal:
            right = 0
        if (left, right) == (-1, -1) and literal is False:
            return [], []
        mask = f"atten_mask={triangle(shaped)}"
        if left < 0 and right <= 0:
            if variable and not same_lengths and causal_mode == 3:
                self.conditions.append("no sequence may have more queries than keys")
            if literal is None and causal is not None:
                text = self.file.code(causal)
                if isinstance(causal, (ast.IfExp, ast.Lambda, ast.NamedExpr)):
                    text = f"({text})"
                if any(isinstance(item, (ast.Call, ast.Await, ast.NamedExpr)) for item in ast.walk(causal)):
                    self.conditions.append("what causal= computes is computed twice, and must give the same")
                # That a mode for causal masks may be given without a mask is said nowhere.
                return [f"{mask} if {text} else None"], [f"sparse_mode={causal_mode} if {text} else 0"]
            return [mask], [f"sparse_mode={causal_mode}"]
        if not same_lengths:
            self.conditions.append("no sequence may have more queries than keys, since a query would see no key")
        if left < 0 or right < 0:
            self.conditions.append("a band without an end on one side is not described for sparse_mode 4")
        width = [
            f"pre_tockens={left if left >= 0 else UNLIMITED}",
            f"next_tockens={right if right >= 0 else UNLIMITED}",
        ]
        return [mask], [*width, "sparse_mode=4"]

    def _window(self) -> tuple[int, int]:
        node = self.given.get("window_size")
        if node is None:
            return -1, -1
        if isinstance(node, (ast.Tuple, ast.List)) and len(node.elts) == 2:
            try:
                left, right = ast.literal_eval(node)
            except ValueError:
                pass
            else:
                if isinstance(left, int) and isinstance(right, int) and min(left, right) >= -1:
                    return left, right
        raise _Refused("window_size is only known when it runs")

    def _bias_mode(self) -> int:
        """The sparse mode of xformers' ``attn_bias``; 0 without one."""
        node = self.given.get("attn_bias")
        if node is None or (isinstance(node, ast.Constant) and node.value is None):
            return 0
        if isinstance(node, ast.Call) and not node.args and not node.keywords:
            package, _, last = (self.file.qualname(node.func) or "").rpartition(".")
            if package.startswith("xformers.ops") and last in (
                "LowerTriangularMask",
                "LowerTriangularFromBottomRightMask",
            ):
                return 2 if last == "LowerTriangularMask" else 3
        raise _Refused(
            "attn_bias: a proven form have None, the two triangular masks, a tensor, and a block-diagonal mask that is "
            "made in the call by from_seqlens"
        )

    # --- the text ---

    def _finish(self, arguments: list[str], *, biased: bool = False, behind: str = "") -> Plan:
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
            raise _Refused(f"torch_npu {file.release.torch_npu} has no {operator} that takes {', '.join(sorted(used))}")
        if any(isinstance(up, ast.JoinedStr) for up in file.ancestors(call)):
            raise _Refused("the call stands in an f-string")
        text = laid_out(operator, arguments, behind, call, file)
        on_one_line = joined(operator, arguments, behind)
        if "#" in file.code(call):
            raise _Refused(f"the call holds a comment, so it was left; write {on_one_line}")
        if not can_import_torch_npu(file):
            raise _Refused(f"import torch_npu at the top of the file first; then write {on_one_line}")
        return Plan(text=text, conditions=tuple(self.conditions))


_BLOCK_DIAGONAL = {
    "BlockDiagonalMask": 0,
    "BlockDiagonalCausalMask": 2,
    "BlockDiagonalCausalFromBottomrightMask": 3,
}
"""Block-diagonal masks of xformers, and the sparse mode within each block."""
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
