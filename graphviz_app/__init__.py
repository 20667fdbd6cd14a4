"""The dashboard and the command line of CUDA Graph Lens."""
