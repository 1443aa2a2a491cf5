"""Converts training programs with ``npuify distribute`` and runs them on simulated NPUs: do they train as on one card?"""
