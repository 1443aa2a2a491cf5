import torch

import compute_device

if compute_device.type == "npu":
    from npuify_scatter import scatter, scatter_max as largest
else:
    from torch_scatter import scatter, scatter_max as largest
if compute_device.type == "npu":
    from npuify_scatter import scatter_softmax
else:
    from torch_scatter.composite import scatter_softmax
if compute_device.type == "npu":
    from torch_scatter import unheard_of
    from npuify_scatter import scatter_logsumexp
else:
    from torch_scatter import (
        scatter_logsumexp,
        unheard_of,
    )


def pool(x, index):
    return scatter(x, index, dim=0, reduce="mean"), largest(x, index, 0)[0]


def attend(x, index):
    return scatter_softmax(x, index), scatter_logsumexp(x, index, 0), unheard_of(x)
