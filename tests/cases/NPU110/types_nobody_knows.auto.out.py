import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

import models

model = torch.load("model.pt")
model.cuda()
table = {"small": models.small, "large": models.large}


def main(args, name):
    table[name]().cuda()
    models.REGISTRY.build(name).cuda()
    models.__dict__[args.arch](num_classes=10).cuda()
    getattr(models, args.arch)().cuda()
    main.model.cuda()
    for key, value in torch.load(name)["model"].items():
        value.cuda()


main.model = torch.load("other.pt")


def move(x, wanted):
    x = getattr(x, "cuda")()
    go = x.cuda if wanted else x.cpu
    return go()


def asked(x, options):
    if hasattr(options, "cuda") and options.cuda:
        print("a flag")
    if hasattr(x, "cuda"):
        x = x.cuda()
    return hasattr(x, "is_cuda") and x.is_cuda
