"""Calls of flash_attn as calls of ``torch_npu.npu_fusion_attention``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.rules.attention.call import AttentionCall, Plan, Refused
from npuify.rules.attention.text import is_off, is_repeatable, primary, triangle

if TYPE_CHECKING:
    from npuify.rules.attention.forms import Form

UNLIMITED = 2147483647
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
    "return_attn_probs": "return_attn_probs: npu_fusion_attention does not return the probabilities",
    "block_table": "block_table: a paged cache is for torch_npu.npu_fused_infer_attention_score",
}


class FlashCall(AttentionCall):
    """One call of a function of flash_attn."""

    def plan(self, form: Form) -> Plan:
        self.check_product()
        self.bind((*form.tensors, *form.lengths, *form.unused, *form.options), _BEHIND_CAUSAL)
        for name, reason in _WITHOUT_EQUIVALENT.items():
            if name in self.given and not is_off(self.given[name]):
                raise Refused(reason)
        if "deterministic" in self.given and not is_off(self.given["deterministic"]):
            self.conditions.append("deterministic has no equivalent; call torch.use_deterministic_algorithms(True)")
        shaped, axes = self.shape_of(self.given[form.tensors[0]])
        tensors = [self.text(name) for name in form.tensors]
        if form.packed is not None:
            tensors[-1] = f"*{primary(self.given[form.tensors[-1]], tensors[-1])}.unbind({form.packed})"
        same_lengths = form.tensors == ("qkv",)
        lengths = [f"{primary(self.given[name], self.text(name))}[1:].tolist()" for name in form.lengths]
        if len(lengths) == 1 or (lengths and lengths[0] == lengths[1]):
            same_lengths, lengths = True, [lengths[0], lengths[0]]
        mask, sparse = self._mask(shaped, bool(form.lengths), same_lengths, form.causal_mode)
        heads = f"{shaped}.shape[{axes.get(form.heads, form.heads)}]"
        bias = self._bias(form, shaped, axes, heads)
        arguments = [*tensors, heads, f'"{form.layout}"', *bias, *mask]
        arguments += [f"scale={self.scale('softmax_scale', shaped)}", *self.keep_prob("dropout_p")]
        arguments += [
            f"{name}={value}" for name, value in zip(("actual_seq_qlen", "actual_seq_kvlen"), lengths, strict=False)
        ]
        return self.finish([*arguments, *sparse], biased=bool(bias))

    def _bias(self, form: Form, shaped: str, axes: dict[int, int], heads: str) -> list[str]:
        """The bias that is added to the scaled scores: one that is passed, or that of the ALiBi slopes."""
        if "bias" in self.given and not is_off(self.given["bias"]):
            self.conditions.append("the bias must have the shape (batch or 1, heads, queries, keys), and no gradient")
            return [f"pse={self.text('bias')}", "pse_type=0"]
        slopes = self.given.get("alibi_slopes")
        if slopes is None or is_off(slopes):
            return []
        if form.lengths:
            raise Refused("alibi_slopes: for packed sequences the operator takes a separate bias for each sequence")
        if self.file.source.name_target("torch", self.file.scope(self.call)) != "torch":
            raise Refused("alibi_slopes: torch is not imported under its own name, and is needed to build the bias")
        queries = f"{shaped}.shape[{axes.get(1, 1)}]"
        keys = queries
        if len(form.tensors) > 1:
            other, turned = self.shape_of(self.given[form.tensors[1]])
            keys = f"{other}.shape[{turned.get(1, 1)}]"
        if not is_repeatable(slopes):
            raise Refused("alibi_slopes: assign the slopes to a name first")
        self.conditions.append("the bias takes heads times queries times keys of memory")
        rows = keys if keys == queries else f"{keys} - {queries}, {keys}"
        here, there = (f"torch.arange({span}, device={shaped}.device)" for span in (rows, keys))
        distance = f"{there} - {here}[:, None]"
        slope = f"{self.file.code(slopes)}.reshape(-1, {heads}, 1, 1)"
        return [f"pse=(-{slope} * ({distance}).abs()).to({shaped}.dtype)", "pse_type=0"]

    def _mask(self, shaped: str, variable: bool, same_lengths: bool, causal_mode: int) -> tuple[list[str], list[str]]:
        """The mask argument, and those that say what it means."""
        causal = self.given.get("causal")
        literal = causal.value if isinstance(causal, ast.Constant) else None if causal is not None else False
        if literal is not None and not isinstance(literal, bool):
            raise Refused("causal is neither True nor False")
        left, right = self._window()
        if (left, right) != (-1, -1) and literal is None:
            raise Refused("causal is only known at run time, and changes what window_size means")
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
                    self.conditions.append(
                        "the expression for causal= is evaluated twice, and must give the same result"
                    )
                # That a mode for causal masks may be given without a mask is said nowhere.
                return [f"{mask} if {text} else None"], [f"sparse_mode={causal_mode} if {text} else 0"]
            return [mask], [f"sparse_mode={causal_mode}"]
        if not same_lengths:
            self.conditions.append("no sequence may have more queries than keys, since a query would see no key")
        if left < 0 or right < 0:
            self.conditions.append("a band that is open on one side is not documented for sparse_mode 4")
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
        raise Refused("window_size is only known at run time")
