import torch
import torch_npu  # noqa: F401

import models

model = torch.load("model.pt")
model.npu()
table = {"small": models.small, "large": models.large}


def main(args, name):
    table[name]().npu()
    models.REGISTRY.build(name).npu()
    models.__dict__[args.arch](num_classes=10).npu()
    getattr(models, args.arch)().npu()
    main.model.cuda()
    for key, value in torch.load(name)["model"].items():
        value.npu()


main.model = torch.load("other.pt")


def move(x, wanted):
    x = getattr(x, "npu")()
    go = x.npu if wanted else x.cpu
    return go()


def asked(x, options):
    if hasattr(options, "cuda") and options.cuda:
        print("a flag")
    if hasattr(x, "npu"):
        x = x.npu()
    return hasattr(x, "is_npu") and x.is_npu
