import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, first=True):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, batch_first=first)
        self.encoder = nn.TransformerEncoder(
            self.layer,
            num_layers=2,  # few
            enable_nested_tensor=False,
        )

    def forward(self, x, mask):
        return self.encoder(x, src_key_padding_mask=mask)
