"""Which ATen operators the device treats in a way of its own."""

from __future__ import annotations

WHOLE = """
aten::convolution_backward aten::copy_ aten::_convolution aten::clone aten::embedding
aten::embedding_dense_backward aten::native_layer_norm aten::native_layer_norm_backward aten::native_group_norm
aten::native_group_norm_backward aten::_embedding_bag aten::zero_ aten::fill_.Scalar aten::fill_.Tensor
""".split()
"""PyTorch could take these apart; the CPU's kernel does them in one piece, for some of them the only way."""

BESIDE_CPU = """
aten::copy_ aten::_copy_from aten::index.Tensor aten::index_put aten::index_put_ aten::_index_put_impl_
aten::_unsafe_index.Tensor aten::_unsafe_index_put aten::set_.source_Tensor aten::is_set_to aten::_pack_padded_sequence
aten::_pad_packed_sequence aten::tensor_split.tensor_indices_or_sections aten::_nested_tensor_from_mask
aten::_index_put_impl aten::index.Tensor_out aten::repeat_interleave.Tensor
""".split()
"""CPU tensors may stand beside NPU tensors: copies, and indices and lengths that live on the host."""

IN_FLOAT = """
aten::mm aten::mm.out aten::bmm aten::bmm.out aten::addmm aten::addmm.out aten::addmm_ aten::baddbmm aten::baddbmm.out
aten::baddbmm_ aten::addbmm aten::addbmm.out aten::addbmm_ aten::mv aten::mv.out aten::addmv aten::addmv.out
aten::addmv_ aten::dot aten::vdot aten::_trilinear aten::_cdist_forward aten::_cdist_backward aten::linear
aten::linear.out aten::matmul aten::matmul.out aten::_convolution aten::convolution_backward
aten::convolution_overrideable aten::convolution_backward_overrideable
aten::avg_pool3d aten::avg_pool3d.out aten::avg_pool3d_backward aten::avg_pool3d_backward.grad_input
aten::multilabel_margin_loss_forward aten::multilabel_margin_loss_forward.output
aten::multilabel_margin_loss_backward aten::multilabel_margin_loss_backward.grad_input
aten::rrelu_with_noise aten::rrelu_with_noise.out aten::rrelu_with_noise_
""".split()
"""Products: of half types they are computed in float32 and rounded once, as an NPU's matrix unit does.

The CPU's own kernels of half types take up to fourteen times as long as those of float32. The last three lines are
operators that the CPU lacks in half types, by PyTorch's own list of types (dtypesIfCUDA beyond dtypes in its operator
database), and that CANN's and the vendor's lists name for the NPU in them.
"""

SAME_KERNEL = {
    "aten::convolution": "aten::convolution_overrideable",
    "aten::convolution_backward": "aten::convolution_backward_overrideable",
    "aten::_convolution": "aten::convolution_overrideable",
}
"""Operators that the device takes whole, and the one that torch_npu implements in their place."""
