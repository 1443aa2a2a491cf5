"""``torch_npu.optim``: the fused optimizers, with the mathematics of their published definitions.

The real ones keep all parameters of one type in one piece of memory. Here each parameter stays where it is; what a
program can notice of that piece of memory is kept: which types are taken, which parameters are updated, how gradients
are zeroed and clipped.
"""

from npuify.simulator.optimizers.adam import NpuFusedAdam, NpuFusedAdamP, NpuFusedAdamW
from npuify.simulator.optimizers.base import NpuFusedOptimizerBase
from npuify.simulator.optimizers.layerwise import NpuFusedBertAdam, NpuFusedLamb
from npuify.simulator.optimizers.sgd import NpuFusedSGD
from npuify.simulator.optimizers.squares import NpuFusedAdadelta, NpuFusedRMSprop, NpuFusedRMSpropTF

__all__ = [
    "NpuFusedAdadelta",
    "NpuFusedAdam",
    "NpuFusedAdamP",
    "NpuFusedAdamW",
    "NpuFusedBertAdam",
    "NpuFusedLamb",
    "NpuFusedOptimizerBase",
    "NpuFusedRMSprop",
    "NpuFusedRMSpropTF",
    "NpuFusedSGD",
]
