"""Models of sequences: attention, scans, transducers."""
