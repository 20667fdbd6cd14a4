"""Two graphs or recordings against each other: what differs, drawn, listed and told."""
