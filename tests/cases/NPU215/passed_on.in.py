from apex import amp
from apex.optimizers import FusedAdam

__all__ = ["amp", "FusedAdam"]
