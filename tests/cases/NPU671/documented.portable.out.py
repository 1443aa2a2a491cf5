import torch
optimizer = torch.optim.Adam(model.parameters(), lr=0.001, betas=(0.0, 0.99))
