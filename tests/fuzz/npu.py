"""Loads the simulated NPU into the process that the programs are forked from, so that none has to do it again."""

from __future__ import annotations

import torch

torch._import_device_backends()
