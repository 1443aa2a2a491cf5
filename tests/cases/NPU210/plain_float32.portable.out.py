import torch

import compute_device

if compute_device.type != "npu":
    from apex import amp

model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
if compute_device.type != "npu":
    model, optimizer = amp.initialize(model, optimizer, opt_level="O0")
for batch in [torch.zeros(1, 2)]:
    loss = model(batch).sum()
    if compute_device.type == "npu":
        loss.backward()
    else:
        with amp.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
    optimizer.step()
