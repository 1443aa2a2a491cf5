"""Runs one probe in this process and writes what it found: ``python probes NAME OUTPUT``.

Probes run inside the prepared environment, where only torch, torch_npu and the standard library can be imported; each
has a process of its own, since what one imports or patches would change what the next one sees.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "src"))


def main() -> None:
    """Run the probe that the first argument names, and leave its answer in the file that the second one names."""
    name, output = sys.argv[1:3]
    probe = importlib.import_module(name)
    found = probe.collect()
    Path(output).write_text(json.dumps(found, sort_keys=True), encoding="utf-8")
    # Threads and handlers of the package may wait for a device that is not there.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
