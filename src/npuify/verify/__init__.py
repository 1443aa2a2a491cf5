"""Prove a migration: capture, compare, loss curves, profiles, acceptance steps."""
