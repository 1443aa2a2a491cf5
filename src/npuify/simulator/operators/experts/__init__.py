"""Mixtures of experts: which expert takes which token."""
