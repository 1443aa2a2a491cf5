"""Runs programs that rules write, statement by statement."""
