import compute_device
if compute_device.type != "npu":
    import apex
import torch
norm = (
    torch.nn.LayerNorm(64, eps=1e-6)
    if compute_device.type == "npu"
    else apex.normalization.FusedLayerNorm(64, eps=1e-6)
)
