"""Runs several programs one after the other in this process, since starting PyTorch is what takes the time.

Its argument is JSON: a list of [folder, script, arguments…]; each script runs in its folder, as ``python script`` does there.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from pathlib import Path


def run(folder: str, script: str, arguments: list[str]) -> None:
    """Run one, and forget its modules, so that the next may have others of the same names."""
    os.chdir(folder)
    sys.argv = [script, *arguments]
    sys.path.insert(0, folder)
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        sys.path.remove(folder)
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if file and Path(file).is_relative_to(folder):
                del sys.modules[name]


for one in json.loads(sys.argv[1]):
    run(one[0], one[1], one[2:])
