#!/usr/bin/env bash
# This project has code for TensorFlow 1 and for TensorFlow 2, and does not say which of them it runs on.
echo "say tf-adapter = \"1.15\" or \"2.6.5\" in [tool.npuify] of the project's pyproject.toml, and write this guide again" >&2
exit 1
