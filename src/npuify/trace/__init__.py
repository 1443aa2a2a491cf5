"""``npuify trace``: which operators a program's step runs, and what the NPU has for each, without computing.

Two halves. What runs inside the traced program (``runner``, ``recorder``, ``values``, ``patches``, ``places``) imports
nothing but the standard library and torch, and writes what it saw as JSON. What reads that (``launch``, ``verdict``,
``render``, ``page``) runs in npuify's own process and imports no torch.
"""
