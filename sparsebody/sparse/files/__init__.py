"""Patterns, orders and matrices in text files."""
