"""Train {{project}} on NPUs, or on the CPU where there is none: ``python train.py --epochs 3``."""

import argparse

from training_project.device import Device, set_seed


def parse(arguments=None):
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=32, help="of all ranks together")
    parser.add_argument("--samples", type=int, default=1024)
    parser.add_argument("--validation-samples", type=int, default=200)
    parser.add_argument("--learning-rate", type=float, default=0.1)
    parser.add_argument("--clip", type=float, default=1.0, help="the largest norm of the gradients")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--precision", default="", help="the adapter's precision_mode_v2, such as mixed_float16")
    parser.add_argument("--output", default="output", help="the folder of checkpoints")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    return parser.parse_args(arguments)


def main(arguments=None):
    """Train; returns the loss of each epoch."""
    options = parse(arguments)
    device = Device(options.precision)  # before the modules that make functions and models are imported
    from training_project.model import build
    from training_project.trainer import Trainer

    set_seed(options.seed)
    if device.rank == 0:
        print("{} ranks on {}".format(device.size, device.name), flush=True)
    return Trainer(device, build(options.width), options).train()


if __name__ == "__main__":
    main()
