"""Methods of tensors, as PyTorch 2.13's own stubs declare them."""

from __future__ import annotations

from typing import Final

GIVING_TENSORS: Final = frozenset(
    (
        "abs absolute acos acosh add addbmm addcdiv addcmul addmm addmv addr adjoint all amax amin aminmax angle any "
        "arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argsort argwhere as_strided "
        "as_strided_scatter asin asinh atan atan2 atanh baddbmm bernoulli bfloat16 bincount bitwise_and "
        "bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor bmm bool broadcast_to byte "
        "ccol_indices cdouble ceil cfloat chalf char cholesky cholesky_inverse cholesky_solve chunk clamp clamp_max "
        "clamp_min clip clone coalesce col_indices conj conj_physical contiguous copysign corrcoef cos cosh "
        "count_nonzero cov cpu cross crow_indices cuda cummax cummin cumprod cumsum deg2rad dequantize det detach diag "
        "diag_embed diagflat diagonal diagonal_scatter diff digamma dist div divide dot double dsplit eq erf erfc "
        "erfinv exp exp2 expand expand_as expm1 fix flatten flip fliplr flipud float float_power floor floor_divide "
        "fmax fmin fmod frac frexp gather gcd ge ger greater greater_equal gt half hardshrink heaviside histc hsplit "
        "hypot i0 igamma igammac index_add index_copy index_fill index_put index_reduce index_select indices inner int "
        "int_repr inverse isclose isfinite isinf isnan isneginf isposinf isreal istft kron kthvalue lcm ldexp le lerp "
        "less less_equal lgamma log log10 log1p log2 log_softmax logaddexp logaddexp2 logcumsumexp logdet logical_and "
        "logical_not logical_or logical_xor logit logsumexp long lt lu_solve masked_fill masked_scatter masked_select "
        "matmul matrix_exp matrix_power max maximum mean median min minimum mm mode moveaxis movedim msort mul "
        "multinomial multiply mv mvlgamma nan_to_num nanmean nanmedian nanquantile nansum narrow narrow_copy ne neg "
        "negative new new_empty new_empty_strided new_full new_ones new_tensor new_zeros nextafter nonzero norm "
        "not_equal npu orgqr ormqr outer permute pin_memory pinverse polygamma positive pow prelu prod put qr quantile "
        "rad2deg ravel reciprocal relu remainder renorm repeat repeat_interleave reshape reshape_as resize resize_as "
        "resolve_conj resolve_neg roll rot90 round row_indices rsqrt scatter scatter_add scatter_reduce select "
        "select_scatter sgn short sigmoid sign signbit sin sinc sinh slice_scatter slogdet smm softmax sort "
        "sparse_mask split split_with_sizes sqrt square squeeze sspaddmm std stft sub subtract sum sum_to_size svd "
        "swapaxes "
        "swapdims t take take_along_dim tan tanh tensor_split tile to to_dense to_mkldnn to_padded_tensor to_sparse "
        "to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr topk trace transpose tril triu "
        "true_divide trunc type type_as unbind unflatten unfold unique unique_consecutive unsqueeze values var vdot "
        "view view_as vsplit where xlogy xpu"
    ).split()
)
"""Those that give a tensor, or several; those in place, whose names end in an underscore, do, too."""

GIVING_NUMBERS: Final = frozenset(
    (
        "allclose data_ptr dense_dim dim element_size equal get_device is_coalesced is_complex is_conj is_contiguous "
        "is_floating_point is_inference is_neg is_nonzero is_pinned is_same_size is_set_to is_shared is_signed item "
        "ndimension nelement numel size sparse_dim storage_offset stride"
    ).split()
)
"""Those that give numbers, truth values, or tuples of them."""

TENSORS_ALONE: Final = frozenset(
    (
        "unsqueeze unsqueeze_ view permute contiguous detach requires_grad_ expand_as masked_fill view_as type_as "
        "log_softmax index_select new_zeros new_ones new_tensor pin_memory bfloat16 half float long squeeze"
    ).split()
)
"""Those that among common packages only torch's tensors (or modules) have: whose they are need not be known."""
