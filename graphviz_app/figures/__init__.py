"""Figures of the pages: plain data in, payloads and plots out."""
