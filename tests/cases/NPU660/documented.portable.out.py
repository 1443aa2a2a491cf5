import torch
from torch import inf
int_classes = int
torch.use_deterministic_algorithms(True)
values, vectors = torch.linalg.eigh(torch.eye(2), UPLO="U")
