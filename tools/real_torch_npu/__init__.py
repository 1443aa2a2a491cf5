"""Import the real torch_npu on a machine without CANN, to ask it instead of guessing.

The shared libraries that the package wants are replaced by generated ones (`stand_ins`): which symbols they must have
is read from the package's own ELF files (`elf`). A small runtime on host memory (`runtime/`) answers the calls that
importing, devices, memory, streams and events need. Kernels are not there, and nothing here computes on an NPU.

A tool for developing npuify: tests and ``npuify knowledge generate --live`` use it, users' runs never do.
"""
