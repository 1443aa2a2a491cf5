from torch import nn, zeros

import compute_device

layer = nn.Linear(2, 2)
x = zeros(2, device=compute_device.type)
