import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


def given(x, mask):
    return x.masked_fill(mask, 0.0), x.masked_fill(mask.byte() == 0, 0.0)


def two(x, flag):
    mask = torch.zeros(4, dtype=torch.uint8)
    if flag:
        mask = x > 0
    return x.masked_fill(mask, 0.0)


x = torch.ones(4).cuda()
bytes_ = torch.zeros(4).byte()
y = x.masked_fill(bytes_.bool(), 0.0)
y = x.masked_fill(bytes_.bool(), 0.0)
y = x.masked_fill(bytes_ == 0, 0.0)
y = x.masked_fill_((x > 0).byte().bool(), 0.0)
y = x.masked_select(torch.tensor([1, 0, 1, 1], dtype=torch.uint8).bool())
y = x.masked_fill(mask=torch.ByteTensor([1, 0, 1, 1]).bool(), value=0.0)
y = x[bytes_]
