"""How the functions of flash_attn and xformers take their tensors: layout, packing, lengths, where causal begins."""

from __future__ import annotations

from typing import NamedTuple


class Form(NamedTuple):
    """How a function of flash_attn takes its tensors.

    ``packed`` is the axis on which keys and values (and queries) are stacked, ``heads`` the axis of the heads in the
    tensor that holds the queries.
    """

    tensors: tuple[str, ...]
    heads: int
    packed: int | None = None
    lengths: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    options: tuple[str, ...] = ("dropout_p", "softmax_scale", "causal")
    causal_mode: int = 3
    """The sparse mode that ``causal=True`` is: 2 from the upper left corner, 3 from the lower right one."""

    @property
    def layout(self) -> str:
        return "TND" if self.lengths else "BSND"


FLASH_WORDS = (
    *("from flash_attn", "import flash_attn", ", flash_attn", "flash_attn.", '"flash_attn', "'flash_attn"),
    *("flash_attn_func", "flash_attn_varlen", "flash_attn_qkvpacked", "flash_attn_kvpacked", "flash_attn_unpadded"),
    *("flash_attn_with_kvcache", "flash_attn_interface", "flash_attn_triton"),
    *("_flash_attn_forward", "_flash_attn_backward"),
)
"""What shows that a file uses flash_attn. The bare name is no sign: it stands in hundreds of names of flags."""
_CU = ("cu_seqlens_q", "cu_seqlens_k")
_MAX = ("max_seqlen_q", "max_seqlen_k")
FIXED_LENGTH = {
    "flash_attn_func": Form(("q", "k", "v"), 2),
    "flash_attn_qkvpacked_func": Form(("qkv",), 3, 2),
    "flash_attn_kvpacked_func": Form(("q", "kv"), 2, 2),
}
VARIABLE_LENGTH = {
    "flash_attn_varlen_func": Form(("q", "k", "v"), 1, None, _CU, _MAX),
    "flash_attn_varlen_qkvpacked_func": Form(("qkv",), 2, 1, ("cu_seqlens",), ("max_seqlen",)),
    "flash_attn_varlen_kvpacked_func": Form(("q", "kv"), 1, 1, _CU, _MAX),
}
_TRITON = ("bias", "causal", "softmax_scale")
TRITON = {
    "flash_attn_func": Form(("q", "k", "v"), 2, options=_TRITON, causal_mode=2),
    "flash_attn_qkvpacked_func": Form(("qkv",), 3, 2, options=_TRITON, causal_mode=2),
    "flash_attn_kvpacked_func": Form(("q", "kv"), 2, 2, options=_TRITON, causal_mode=2),
}
"""flash_attn.flash_attn_triton: no dropout, a bias, and causal from the upper left corner."""


def form_of(name: str | None) -> Form | None:
    """The form of a function of flash_attn, by its qualified name."""
    package, _, last = (name or "").rpartition(".")
    if package == "flash_attn.flash_attn_triton":
        return TRITON.get(last)
    if package not in ("flash_attn", "flash_attn.flash_attn_interface"):
        return None
    return FIXED_LENGTH.get(last) or VARIABLE_LENGTH.get(last)


def is_memory_efficient_attention(name: str | None) -> bool:
    return name in ("xformers.ops.memory_efficient_attention", "xformers.ops.fmha.memory_efficient_attention")
