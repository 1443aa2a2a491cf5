import torch
guessed = torch.rand(4, 10).topk(5, 1)[1].t()
correct = guessed.eq(torch.zeros(1, 4).expand_as(guessed))
hits = correct[:5].reshape(-1).float().sum(0)
