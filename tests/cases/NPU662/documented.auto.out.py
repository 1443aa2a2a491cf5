import torch
loss = torch.nn.functional.mse_loss(model(x), y)
loss.backward()
print(loss.item())
