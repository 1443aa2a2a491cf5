"""The capture of a program on TensorFlow 2: what Keras layers take and give, gradients, and steps of optimizers.

What a function computes inside is handed out as further results of the function, since nothing else comes back from a
device: no operator of the host is put into a graph. The files and records are those of PyTorch programs. All of it
but :mod:`launch` runs in the user's program, on Python 3.7 and later.
"""
