import torch
from flash_attn.layers.rotary import RotaryEmbedding


class Scaled(RotaryEmbedding):
    def _compute_inv_freq(self, device=None):
        return super()._compute_inv_freq(device) / 2
