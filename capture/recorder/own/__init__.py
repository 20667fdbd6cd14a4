"""Replays of our own, on request, once the workload is done: benchmarks, node costs, removals.

Pure parts and what needs a driver stay apart from what needs torch (``torch_*.py``).
"""
