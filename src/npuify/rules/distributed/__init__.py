"""Codes 3xx: process groups, many cards, and the frameworks that start them."""
