import torch
from torch.optim import AdamW
optimizer = AdamW(torch.nn.Linear(2, 2).parameters(), lr=1e-3, weight_decay=0.0)
