import torch

import compute_device

if compute_device.type == "npu":
    import npuify_bitsandbytes as bnb
else:
    import bitsandbytes as bnb


def optimizer(model, args):
    if args.use_8bit_adam:
        try:
            if compute_device.type == "npu":
                import npuify_bitsandbytes as bitsandbytes
            else:
                import bitsandbytes
        except ImportError:
            raise ImportError("install bitsandbytes")
        kind = bitsandbytes.optim.AdamW8bit
    else:
        kind = torch.optim.AdamW
    return kind(model.parameters()), bnb.optim.PagedAdam8bit(model.parameters(), lr=1e-4)
