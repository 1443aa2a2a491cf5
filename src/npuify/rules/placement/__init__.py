"""``--place-on-npu``: a program that names no device gets one."""
