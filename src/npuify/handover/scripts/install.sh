#!/usr/bin/env bash
# Installs what this project needs on an NPU into the Python that is active, or named: PYTHON=python3 bash install.sh
# A mirror of the package index: PIP_INDEX_URL=https://… (pip reads it by itself).
# On x86: PYTORCH_CPU_INDEX is the index of PyTorch's CPU builds, https://download.pytorch.org/whl/cpu, or a mirror of it.
# CANN @@{cann} and the driver are installed by the machine's administrator; nothing here does that.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
references=$here/../references
python=${PYTHON:-python}

"$python" - <<'PYTHON'
import sys

wanted = @@{pythons}
if list(sys.version_info[:2]) not in wanted:
    names = ", ".join(".".join(map(str, one)) for one in wanted)
    sys.exit(f"Python {sys.version.split()[0]} has no torch_npu @@{torch_npu}: take one of {names}")
PYTHON

case $(uname -m) in
    x86_64 | amd64)
        # The usual index has the build for CUDA under this name.
        if [ -z "${PYTORCH_CPU_INDEX:-}" ]; then
            echo "set PYTORCH_CPU_INDEX to the index of CPU builds, https://download.pytorch.org/whl/cpu, or to a mirror" >&2
            exit 1
        fi
        "$python" -m pip install @@{torch_x86} --extra-index-url "$PYTORCH_CPU_INDEX"
        ;;
    *)
        "$python" -m pip install @@{torch_arm}
        ;;
esac
"$python" -m pip install "torch-npu==@@{torch_npu}"

# What CANN's own compiler imports, and what the project asks for; torch stays as it is.
"$python" -m pip install --constraint "$references/constraints.txt" --requirement "$references/requirements.txt"
@@{builds}
