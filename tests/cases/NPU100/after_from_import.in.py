from torch import nn, zeros

layer = nn.Linear(2, 2)
x = zeros(2, device="cuda")
