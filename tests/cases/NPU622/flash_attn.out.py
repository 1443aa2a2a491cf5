import torch
from npuify_rotary import RotaryEmbedding, apply_rotary_emb
from npuify_losses import CrossEntropyLoss
from npuify_norms import RMSNorm, rms_norm_fn as norm
import npuify_norms as layer_norm


class Block(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.rotary = RotaryEmbedding(size, interleaved=True)
        self.norm = RMSNorm(size, eps=1e-6)
        self.loss = CrossEntropyLoss(inplace_backward=True)

    def forward(self, q, k, cos, sin, residual):
        q = apply_rotary_emb(q, cos, sin, interleaved=True)
        k = norm(k, self.norm.weight, None, residual=residual, eps=1e-6)
        return layer_norm.layer_norm_fn(q, self.norm.weight, None), k
