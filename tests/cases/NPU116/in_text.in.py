"""Runs on the CUDAExecutionProvider where there is one."""

HELP = "the CUDAExecutionProvider needs a GPU"
