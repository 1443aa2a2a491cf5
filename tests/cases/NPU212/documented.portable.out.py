import torch

import compute_device

if compute_device.type != "npu":
    from apex.optimizers import FusedAdam
optimizer = (
    torch.optim.AdamW(torch.nn.Linear(2, 2).parameters(), lr=1e-3, weight_decay=0.0)
    if compute_device.type == "npu"
    else FusedAdam(torch.nn.Linear(2, 2).parameters(), lr=1e-3, adam_w_mode=True)
)
