"""Public CUDA training projects: the original on the CPU against what was migrated, on simulated NPUs."""
