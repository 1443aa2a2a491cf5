from mine.apex import FusedAdam
from deepspeed.ops.adam import FusedAdam as Other

optimizer = FusedAdam([], lr=1e-3), Other([])
