import torch
from flash_attn.ops.rms_norm import rms_norm


def normed(xs, weight, options):
    return [rms_norm(x, weight, **options) for x in xs], map(rms_norm, xs)


print(torch.__version__)
