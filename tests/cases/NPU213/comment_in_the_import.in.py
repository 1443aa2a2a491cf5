from apex.normalization import (
    FusedLayerNorm,  # faster
)

norm = FusedLayerNorm(64)
