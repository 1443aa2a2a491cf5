"""The ledger: every place that concerns CUDA, and what became of it: edited, reported, or cleared with a reason."""
