#!/usr/bin/env bash
# Installs what this project needs on an NPU into the Python that is active, or named: PYTHON=python3 bash install.sh
# A mirror of the package index: PIP_INDEX_URL=https://… (pip reads it by itself).
# ADAPTER_WHEEL: the wheel of @@{package} from the adapter's release page (no package index has it), of the version of this machine's
# CANN. TFPLUGIN_INSTALL_PATH: the folder that it goes to; environment.sh puts that on PYTHONPATH.
# CANN and the driver are installed by the machine's administrator; nothing here does that.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
references=$here/../references
python=${PYTHON:-python}

"$python" - <<'PYTHON'
import os
import sys

wanted = @@{pythons}
have = sys.version_info[:3]
if not any(tuple(low) <= have < tuple(high) for low, high in wanted):
    message = "Python %d.%d.%d has no @@{package}, which wants @@{python}" % have
    if os.environ.get("ADAPTER_WHEEL"):
        sys.exit(message)
    print(message + "; for a rehearsal on the CPU it may do", file=sys.stderr)
PYTHON

"$python" -m pip install @@{packages}

if [[ -n ${ADAPTER_WHEEL:-} ]]; then
    "$python" -m pip install --no-deps --target "${TFPLUGIN_INSTALL_PATH:?is not set: the folder that the adapter goes to}" "$ADAPTER_WHEEL"
else
    echo "@@{package} was not installed: name its wheel in ADAPTER_WHEEL; without it the project runs on the CPU only" >&2
fi

# What CANN's own compiler imports, and what the project asks for; TensorFlow stays as it is.
"$python" -m pip install --constraint "$references/constraints.txt" --requirement "$references/requirements.txt"
@@{builds}
