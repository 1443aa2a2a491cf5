# What a call gives that the module does not take keeps the import.
import torch
from flash_attn.layers.rotary import RotaryEmbedding
from flash_attn.losses.cross_entropy import CrossEntropyLoss
from flash_attn.ops.triton.layer_norm import layer_norm_fn, rms_norm_fn


def layers(group, options):
    return RotaryEmbedding(64, 10000.0, False, None, False), CrossEntropyLoss(process_group=group)


def norms(x, weight, more, options):
    return layer_norm_fn(x, weight, None, x1=more), rms_norm_fn(x, weight, None, **options)
