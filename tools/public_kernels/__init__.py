"""Public projects with kernels of their own: migrated with ``--replace-kernels``, run on simulated NPUs, compared."""
