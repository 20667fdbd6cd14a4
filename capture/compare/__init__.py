"""Compare two graphs, or two recordings, node by node."""
