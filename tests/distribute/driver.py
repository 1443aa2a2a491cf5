"""Runs programs one after the other in each process, and writes down what each did. Started by torchrun or Python.

Usage: driver.py LOGS FOLDER/PROGRAM...; the log of a program is LOGS/FOLDER.RANK.json.
"""

import contextlib
import io
import json
import os
import runpy
import sys
from pathlib import Path

import torch
from torch.utils.data._utils import fetch

log: dict = {}
fetch_batch = fetch._MapDatasetFetcher.fetch
backward = torch.Tensor.backward


def parameters_after_step(optimizer, args, kwargs):
    tensors = [parameter.detach() for group in optimizer.param_groups for parameter in group["params"]]
    log["parameters"].append([value for tensor in tensors for value in tensor.double().cpu().flatten().tolist()])


def logged_backward(self, *args, **kwargs):
    log["losses"].append(float(self.detach()))
    return backward(self, *args, **kwargs)


def logged_fetch(self, indices):
    log["samples"].setdefault(str(len(self.dataset)), []).extend(indices)
    return fetch_batch(self, indices)


sys.modules["torch.optim.optimizer"].register_optimizer_step_post_hook(parameters_after_step)
torch.Tensor.backward = logged_backward
fetch._MapDatasetFetcher.fetch = logged_fetch
logs = Path(sys.argv[1]).resolve()
for name in sys.argv[2:]:
    program = Path(name).resolve()
    log = {"parameters": [], "losses": [], "samples": {}}
    os.chdir(program.parent)
    sys.path[0] = str(program.parent)
    sys.argv = [str(program)]
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        runpy.run_path(str(program), run_name="__main__")
    log["said"] = said.getvalue()
    (logs / f"{program.parent.name}.{os.environ.get('RANK', '0')}.json").write_text(json.dumps(log))
