"""Pieces of pages: plain data in, component trees out."""
