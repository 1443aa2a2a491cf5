"""The ``npu_*`` operators of torch_npu, computed with plain PyTorch.

Each operator is a row of :data:`table.TABLE`: a function on ordinary tensors written from the operator's published
definition, the inputs that get gradients, and the source. :func:`install.install` registers the operators of one
release with their exact schemas. They then work on every device, on meta tensors and on fake ones.

Nothing is imported here, since this needs PyTorch: import :mod:`npuify.simulator.operators.install`.
"""
