"""Runs programs one after the other in each process, and writes down what each did. A launcher starts it, or Python.

Usage: driver.py JOBS.json, a list of objects with:

    program      the file
    arguments    its arguments
    path         a folder that modules are found in, besides that of the program
    log          where to write what it did; ``.RANK.json`` is appended
    sgd          optimizers are plain SGD: others make large differences of the last bits of small gradients
    no_dropout   dropout does nothing
    seeded       false: what draws random numbers begins as in a fresh process
    replay       a log of rank 0 whose order of samples replaces that of the program's own shuffling
"""

import contextlib
import hashlib
import io
import json
import os
import random
import runpy
import sys
import traceback
from pathlib import Path

import numpy
import torch
from torch.utils.data import DataLoader, RandomSampler, _utils

SEED = 20

log: dict = {}
fetch_batch = _utils.fetch._MapDatasetFetcher.fetch
backward = torch.Tensor.backward
make_loader = DataLoader.__init__
shuffled = RandomSampler.__iter__
optimizers = {
    name: getattr(torch.optim, name) for name in ("Adam", "AdamW", "Adadelta", "Adagrad", "RMSprop", "Adamax")
}
dropouts = {name: getattr(torch.nn.functional, name) for name in ("dropout", "dropout1d", "dropout2d", "dropout3d")}


class PlainSGD(torch.optim.SGD):
    """Stands for an optimizer that adapts to the gradients."""

    def __init__(self, params, lr=0.01, **_):
        super().__init__(params, lr=min(lr, 0.05))


def after_step(optimizer, args, kwargs):
    tensors = [parameter.detach() for group in optimizer.param_groups for parameter in group["params"]]
    values = torch.cat([tensor.double().cpu().flatten() for tensor in tensors])
    log["parameters"].append(hashlib.sha256(values.numpy().tobytes()).hexdigest())
    log["last"][str(len(values))] = [float(values.sum()), float(values.abs().sum()), *values[:50].tolist()]


def logged_backward(self, *args, **kwargs):
    log["losses"].append(float(self.detach().double().sum()))
    return backward(self, *args, **kwargs)


def logged_fetch(self, indices):
    if isinstance(indices, list):
        log["samples"].setdefault(str(len(self.dataset)), []).extend(indices)
    return fetch_batch(self, indices)


def loader_without_workers(self, *args, **kwargs):
    """Samples are fetched where they can be counted."""
    for name in ("num_workers", "persistent_workers", "prefetch_factor", "timeout", "multiprocessing_context"):
        kwargs.pop(name, None)
    make_loader(self, *args[:5], **kwargs)


def replayed(orders):
    def order(self):
        known = orders.get(str(len(self.data_source)))
        if not known:
            yield from shuffled(self)
            return
        taken = len(self)
        for place in range(min(taken, len(known))):
            yield known[place]
        del known[:taken]

    return order


def run(job):
    program = Path(job["program"]).resolve()
    log.clear()
    log.update(parameters=[], last={}, losses=[], samples={}, said="", failed="")
    os.chdir(program.parent)
    sys.path[:1] = [str(program.parent), *([job["path"]] if job.get("path") else [])]
    sys.argv = [str(program), *job.get("arguments", ())]
    if job.get("seeded", True):
        torch.manual_seed(SEED)
        random.seed(SEED)
        numpy.random.seed(SEED)
    for name, optimizer in optimizers.items():
        setattr(torch.optim, name, PlainSGD if job.get("sgd") else optimizer)
    for name, dropout in dropouts.items():
        kept = (lambda input, *args, **kwargs: input) if job.get("no_dropout") else dropout
        setattr(torch.nn.functional, name, kept)
    RandomSampler.__iter__ = (
        replayed(json.loads(Path(job["replay"]).read_text())["samples"]) if job.get("replay") else shuffled
    )
    before = set(sys.modules)
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            runpy.run_path(str(program), run_name="__main__")
    except SystemExit as end:
        if end.code not in (None, 0):
            log["failed"] = f"exit code {end.code}"
    except BaseException:
        log["failed"] = traceback.format_exc()
        raise
    finally:
        log["said"] = said.getvalue()
        Path(f"{job['log']}.{os.environ.get('RANK', '0')}.json").write_text(json.dumps(log))
        # The next program may have modules of the same names.
        sys.path[:2] = sys.path[:1] if job.get("path") else sys.path[:2]
        for name in set(sys.modules) - before:
            if str(getattr(sys.modules[name], "__file__", None)).startswith(
                (str(program.parent), job.get("path") or "//")
            ):
                del sys.modules[name]


def main():
    sys.modules["torch.optim.optimizer"].register_optimizer_step_post_hook(after_step)
    torch.Tensor.backward = logged_backward
    _utils.fetch._MapDatasetFetcher.fetch = logged_fetch
    DataLoader.__init__ = loader_without_workers
    for job in json.loads(Path(sys.argv[1]).read_text()):
        run(job)


if __name__ == "__main__":
    main()
