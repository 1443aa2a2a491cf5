import math

import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
import torch.nn as nn


def train(model, data, caps_loss, network):
    criterion = nn.MSELoss(size_average=False)
    criterion = criterion.cuda()
    each = nn.MSELoss(reduction="none")
    total = criterion(model(data), data).item()
    rows = each(model(data), data).data[0]
    test_loss = 0
    test_loss += caps_loss(model(data), data).data[0] * data.size(0)
    test_loss += network.loss(data, size_average=False).data[0]
    return total, rows, test_loss


def evaluate(model, data, measure, batches):
    total_loss = 0
    total_loss += measure(model(data), data).data[0]
    pixels = 0
    pixels += measure(model(data), data).data[0]
    return total_loss, pixels, batches(data).data[0], nn.CrossEntropyLoss()(model(data), data).item()


def bounds(model, loader):
    bound = 0
    part = 0.0
    mixed = 0
    for x, y in loader:
        class_loss = nn.functional.cross_entropy(model(x), y).div(math.log(2))
        bound += math.log(10) - class_loss
        part += class_loss.div(y)
        mixed += class_loss
    mixed /= y
    return bound.item(), part.data[0], mixed.data[0]


def parts(model, loader):
    train_re = 0
    for x, y in loader:
        loss, re, rows = model.calculate_loss(x, y)
        train_re += -re.data[0]
        rows[1] += rows.data[0]
    return train_re
