import torch


def train(critic, x, loss, weights):
    one = torch.FloatTensor([1])
    score = critic(x)
    score.backward(one)  # a critic of the time ends with .mean(0).view(1)
    rows = critic(x).mean(0)
    rows.backward(one)
    total = critic(x).mean()
    total.backward(torch.tensor(1.0))
    total.backward(weights)
    total.backward(torch.ones(2))
    total.backward()
    for _ in range(2):
        total.backward(one)
        total = critic(x)
    last = critic(x)
    try:
        last = critic(x).mean()
    except RuntimeError:
        last.backward(one)
