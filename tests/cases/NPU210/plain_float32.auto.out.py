import torch

model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in [torch.zeros(1, 2)]:
    loss = model(batch).sum()
    loss.backward()
    optimizer.step()
