"""Ranges; imported last."""
