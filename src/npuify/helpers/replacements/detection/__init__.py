"""Detectors: boxes, their overlaps and suppression, regions."""
