"""Serve synthetic recordings for a look: ``python -m tests.app.serve_synthetic PORT``."""

from __future__ import annotations

import sys

from graphviz_app.app import Settings, create_app
from graphviz_app.server import serve
from graphviz_app.store import Store
from tests.helpers import origins, synthetic


def main(port: int) -> None:
    """Serve until interrupted."""
    store = Store(
        [
            ("synthetic run.cgl", synthetic.typical()),
            (
                "many.cgl",
                synthetic.recording(
                    {f"step {i}": synthetic.layers(1 + i % 9) for i in range(300)},
                    title="many graphs",
                ),
            ),
            ("big.cgl", synthetic.recording({"big": synthetic.layers(1400)}, title="big")),
            (
                "origins.cgl",
                origins.recording(origins.transformer(), origins.compiled()),
            ),
            ("nothing.cgl", synthetic.recording({}, failed=False, title="nothing")),
        ]
    )
    settings = Settings(port=port, open_browser=False)
    serve(create_app(store, settings), settings)


if __name__ == "__main__":
    main(int(sys.argv[1]))
