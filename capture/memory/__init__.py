"""What memory means for graphs: addresses of nodes, blocks they lie in, sums, lifetimes. Pure."""
