"""Runs in every Python of a trial, the original's and the migrated one's, as soon as PyTorch has been imported.

TRIAL_LOSSES: each number on which the program calls ``backward`` is appended to this file (with ``.RANK``), in all its
digits. TRIAL_SEED: what draws random numbers begins from there, for programs that set no seed. TRIAL_CPU=N: a program
that takes a GPU for granted finds N of them, which are the CPU: see ``cuda_is_cpu.py``. TRIAL_STEPS=N: the program has
ended well when it has called ``backward`` so often, wherever it stands. TRIAL_OLD: packages of whose older releases
what is gone is put back: see ``older.py``. torchvision takes made-up files for CIFAR's. Nothing else is changed.
"""

import importlib.util
import os
import sys
from pathlib import Path


class _WhenImported:
    """Finds a module as ever, and calls ``then`` with it once it is there."""

    def __init__(self, name, then):
        self.name = name
        self.then = then

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            imported = spec.loader.exec_module

            def then(module):
                imported(module)
                self.then(module)

            spec.loader.exec_module = then
        return spec


def take_made_pictures(cifar):
    """Made-up files of CIFAR are not those whose sums torchvision knows."""
    cifar.check_integrity = lambda path, md5=None: Path(path).is_file()


def prepare(torch):
    seed = os.environ.get("TRIAL_SEED")
    if seed:
        import random

        torch.manual_seed(int(seed))
        random.seed(int(seed))
        try:
            import numpy
        except ModuleNotFoundError:
            pass
        else:
            numpy.random.seed(int(seed))
    losses = os.environ.get("TRIAL_LOSSES")
    if losses:
        record(torch, losses)
    if "torch" in os.environ.get("TRIAL_OLD", ""):
        import older

        older.torch_of_old(torch)
    if os.environ.get("TRIAL_CPU"):
        import cuda_is_cpu

        cuda_is_cpu.apply(torch, int(os.environ["TRIAL_CPU"]))


def record(torch, losses):
    backward = torch.autograd.backward
    steps = int(os.environ.get("TRIAL_STEPS", "0"))
    made = [0]

    def recorded(tensors, *args, **kwargs):
        distributed = torch.distributed
        known = distributed.is_available() and distributed.is_initialized()
        rank = distributed.get_rank() if known else os.environ.get("RANK", "0")
        first = tensors if isinstance(tensors, torch.Tensor) else next(iter(tensors))
        value = first.detach()
        value = value.full_tensor() if hasattr(value, "full_tensor") else value
        with Path(f"{losses}.{rank}").open("a") as file:
            file.write(f"{value.cpu().double().sum().item()!r}\n")
        done = backward(tensors, *args, **kwargs)
        made[0] += 1
        if made[0] == steps:
            if known:
                distributed.barrier()  # the others have made their last step, too
            sys.stdout.flush()
            os._exit(0)  # neither handlers nor a loader's workers hold it back
        return done

    torch.autograd.backward = recorded


if os.environ.get("TRIAL_LOSSES"):
    sys.meta_path.insert(0, _WhenImported("torch", prepare))
    sys.meta_path.insert(0, _WhenImported("torchvision.datasets.cifar", take_made_pictures))
    if "numpy" in os.environ.get("TRIAL_OLD", ""):
        import older

        sys.meta_path.insert(0, _WhenImported("numpy", older.numpy_of_old))
    if "yaml" in os.environ.get("TRIAL_OLD", ""):
        import older

        sys.meta_path.insert(0, _WhenImported("yaml", older.yaml_of_old))
    if "torch" in os.environ.get("TRIAL_OLD", ""):
        import older

        sys.meta_path.insert(0, _WhenImported("torchvision.transforms", older.transforms_of_old))
