import torch

import models

import compute_device

model = torch.load("model.pt")
model.to(compute_device.type)
table = {"small": models.small, "large": models.large}


def main(args, name):
    table[name]().to(compute_device.type)
    models.REGISTRY.build(name).to(compute_device.type)
    models.__dict__[args.arch](num_classes=10).to(compute_device.type)
    getattr(models, args.arch)().to(compute_device.type)
    main.model.cuda()
    for key, value in torch.load(name)["model"].items():
        value.to(compute_device.type)


main.model = torch.load("other.pt")


def move(x, wanted):
    x = getattr(x, compute_device.type)()
    go = getattr(x, compute_device.type) if wanted else x.cpu
    return go()


def asked(x, options):
    if hasattr(options, "cuda") and options.cuda:
        print("a flag")
    if hasattr(x, compute_device.type):
        x = x.to(compute_device.type)
    return hasattr(x, "is_cuda") and x.device.type == compute_device.type
