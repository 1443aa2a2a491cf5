from torch import nn
layer = nn.TransformerEncoderLayer(8, 2, batch_first=True)
encoder = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
def run(x, padding):
    return encoder(x, src_key_padding_mask=padding)
