import torch
batches = iter(torch.utils.data.DataLoader(data, batch_size=4))
x, y = next(batches)
