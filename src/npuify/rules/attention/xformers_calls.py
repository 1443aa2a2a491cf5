"""Calls of xformers' attention as calls of ``torch_npu.npu_fusion_attention``."""

from __future__ import annotations

import ast

from npuify.rules.attention.call import AttentionCall, Plan, Refused
from npuify.rules.attention.text import is_off, primary, triangle

_BLOCK_DIAGONAL = {
    "BlockDiagonalMask": 0,
    "BlockDiagonalCausalMask": 2,
    "BlockDiagonalCausalFromBottomrightMask": 3,
}
"""Block-diagonal masks of xformers, and the sparse mode within each block."""


class XformersCall(AttentionCall):
    """One call of ``memory_efficient_attention``."""

    def plan(self) -> Plan:
        self.check_product()
        self.bind(("query", "key", "value", "attn_bias", "p", "scale"), {"op", "output_dtype"})
        if "output_dtype" in self.given and not is_off(self.given["output_dtype"]):
            raise Refused("output_dtype: npu_fusion_attention returns the type of its inputs")
        self.conditions.append("the tensors must have 4 dimensions: batch, length, heads, head dimension")
        shaped, axes = self.shape_of(self.given["query"])
        blocks = self._blocks()
        if blocks is not None:
            return self._block_diagonal(shaped, axes, *blocks)
        bias = self._tensor_bias()
        mode = 0 if bias else self._bias_mode()
        mask = [*bias] if bias else [f"atten_mask={triangle(shaped)}"] if mode else []
        arguments = [self.text(name) for name in ("query", "key", "value")]
        arguments += [f"{shaped}.shape[{axes.get(2, 2)}]", '"BSND"', *mask]
        arguments += [f"scale={self.scale('scale', shaped)}", *self.keep_prob("p")]
        return self.finish([*arguments, *([f"sparse_mode={mode}"] if mode else [])], biased=bool(bias))

    def _tensor_bias(self) -> list[str]:
        """The argument for ``attn_bias`` where that is a tensor: xformers adds it after scaling."""
        node = self.given.get("attn_bias")
        if node is None or not self.file.is_tensor(node):
            return []
        self.conditions.append("the bias must have the shape (batch or 1, heads, queries, keys), and no gradient")
        return [f"pse={self.text('attn_bias')}", "pse_type=0"]

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
            raise Refused("attn_bias: the lengths of its blocks are not passed as two lists")
        if self.file.source.name_target("torch", self.file.scope(self.call)) != "torch":
            raise Refused(
                "attn_bias: torch is not imported under its own name, and is needed to compute the ends of the blocks"
            )
        queries = self.file.code(given["q_seqlen"])
        keys = given.get("kv_seqlen")
        return mode, queries, queries if keys is None or is_off(keys) else self.file.code(keys)

    def _block_diagonal(self, shaped: str, axes: dict[int, int], mode: int, queries: str, keys: str) -> Plan:
        """Blocks are packed sequences: the layout TND, of the one batch that xformers asks for."""
        if axes:
            raise Refused("attn_bias: the tensors are transposed in the call; assign them to names first")
        if mode == 3 and queries != keys:
            self.conditions.append("no block may have more queries than keys")
        tensors = [f"{primary(self.given[name], self.text(name))}[0]" for name in ("query", "key", "value")]
        arguments = [*tensors, f"{shaped}.shape[2]", '"TND"', *([f"atten_mask={triangle(shaped)}"] if mode else [])]
        arguments += [f"scale={self.scale('scale', shaped)}", *self.keep_prob("p")]
        ends = [f"torch.tensor({lengths}).cumsum(0).tolist()" for lengths in (queries, keys)]
        arguments += [f"actual_seq_qlen={ends[0]}", f"actual_seq_kvlen={ends[1]}"]
        return self.finish([*arguments, *([f"sparse_mode={mode}"] if mode else [])], behind="[None]")

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
        raise Refused(
            "attn_bias: only None, the two triangular masks, a tensor, and a block-diagonal mask created in the call "
            "by from_seqlens can be rewritten"
        )
