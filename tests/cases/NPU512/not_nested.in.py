import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.first = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2), 2)
        self.norm_first = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, batch_first=True, norm_first=True), 2)
        self.off = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, batch_first=True), num_layers=2, enable_nested_tensor=False
        )
        self.unknown = nn.TransformerEncoder(layer, 2)

    def forward(self, x, mask):
        return self.first(x, src_key_padding_mask=mask)
