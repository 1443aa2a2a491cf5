"""Runs the program that its arguments name under the capture that its environment asks for, in a fork that has PyTorch."""

from __future__ import annotations

import runpy
import sys

from npuify.verify.capture import start

if __name__ == "__main__":
    start.begin()
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")
