"""The CUDA driver: the calls we use in plain Python types, and their implementation."""
