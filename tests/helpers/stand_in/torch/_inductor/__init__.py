"""Where the compiler's graph trees are."""
