import torch


def accuracy(output, target, topk=(1,)):
    maxk = max(topk)
    _, pred = output.topk(maxk, 1, True, True)
    pred = pred.t()
    correct = pred.eq(target.view(1, -1).expand_as(pred))
    res = []
    for k in topk:
        correct_k = correct[:k].reshape(-1).float().sum(0, keepdim=True)
        res.append(correct_k.mul_(100.0 / target.size(0)))
    return res


def compared(output, target):
    hits = torch.eq(target, output.topk(5, 1)[1].T)
    return hits[:3].reshape(-1), hits[0].view(-1), hits[1:3].view(-1)


def rows(output, target, k):
    guessed = output.topk(5, 1)[1]
    hits = guessed.eq(target)
    return hits[:k].view(-1), guessed[:k].view(-1), target[:k].view(-1, 2)
