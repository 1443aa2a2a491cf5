import torch
import bitsandbytes as bnb


def optimizer(model, args):
    if args.use_8bit_adam:
        try:
            import bitsandbytes
        except ImportError:
            raise ImportError("install bitsandbytes")
        kind = bitsandbytes.optim.AdamW8bit
    else:
        kind = torch.optim.AdamW
    return kind(model.parameters()), bnb.optim.PagedAdam8bit(model.parameters(), lr=1e-4)
