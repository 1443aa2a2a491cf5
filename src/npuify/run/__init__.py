"""``npuify run``: an unchanged CUDA program on an NPU, with a log of every call that was changed.

:mod:`npuify.run.launch` prepares the environment and becomes the program. Below it each Python starts with
npuify's ``sitecustomize``, which calls :func:`npuify.run.start.begin`. All that is imported there uses the standard
library and torch alone, since the program's Python need not have what npuify depends on.
"""
