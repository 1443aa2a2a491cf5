"""The TensorFlow adapter, simulated: ``npu_bridge`` and ``npu_device`` over TensorFlow on the CPU.

:mod:`.inside` runs in the user's program, whose Python may be as old as 3.7: it imports the standard library, NumPy and
TensorFlow, nothing else. The rest starts the program's processes, connects them, and says what a card would have got.
"""
