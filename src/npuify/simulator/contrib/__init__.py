"""``torch_npu.contrib``: functions and modules that older migrated programs use in place of PyTorch's own.

They are written over the simulated operators, with the arguments, the checks and the meaning of the package's. What is
not here (the quantised layers, MultiheadAttention, the deformable convolution's layer, FusedColorJitter,
FastSyncBatchNorm, the fused attention of BERT) says by its name that it is not simulated.
"""

from npuify.simulator.contrib.boxes import (
    npu_batched_multiclass_nms,
    npu_bbox_coder_decode_xywh2xyxy,
    npu_bbox_coder_encode_xyxy2xywh,
    npu_bbox_coder_encode_yolo,
    npu_ciou,
    npu_diou,
    npu_giou,
    npu_iou,
    npu_multiclass_nms,
    npu_ptiou,
    npu_single_level_responsible_flags,
)
from npuify.simulator.contrib.dropping import DropoutWithByteMask, NpuCachedDropout, NpuDropPath, NpuFairseqDropout
from npuify.simulator.contrib.functions import (
    dropout_with_byte_mask,
    fuse_add_softmax_dropout,
    matmul_transpose,
    npu_fast_condition_index_put,
    roll,
)
from npuify.simulator.contrib.modules import (
    BiLSTM,
    ChannelShuffle,
    FastBatchNorm1d,
    FastBatchNorm2d,
    FastBatchNorm3d,
    Focus,
    LabelSmoothingCrossEntropy,
    Mish,
    Prefetcher,
    PSROIPool,
    ROIAlign,
    SiLU,
    Swish,
)

__all__ = [
    "BiLSTM",
    "ChannelShuffle",
    "DropoutWithByteMask",
    "FastBatchNorm1d",
    "FastBatchNorm2d",
    "FastBatchNorm3d",
    "Focus",
    "LabelSmoothingCrossEntropy",
    "Mish",
    "NpuCachedDropout",
    "NpuDropPath",
    "NpuFairseqDropout",
    "PSROIPool",
    "Prefetcher",
    "ROIAlign",
    "SiLU",
    "Swish",
    "dropout_with_byte_mask",
    "fuse_add_softmax_dropout",
    "matmul_transpose",
    "npu_batched_multiclass_nms",
    "npu_bbox_coder_decode_xywh2xyxy",
    "npu_bbox_coder_encode_xyxy2xywh",
    "npu_bbox_coder_encode_yolo",
    "npu_ciou",
    "npu_diou",
    "npu_fast_condition_index_put",
    "npu_giou",
    "npu_iou",
    "npu_multiclass_nms",
    "npu_ptiou",
    "npu_single_level_responsible_flags",
    "roll",
]
