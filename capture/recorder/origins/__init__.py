"""Where nodes come from: what is noted during a capture, and the tables made of it at its end.

::

    labels    names that the user gave to what is running
    stacks    Python stacks of this process, each kept once
    modules   paths of the modules of models
    log       what was noted: one row per operator that made nodes
    watched   what is remembered of a capture, and of each thread in it
    observer  what notes operators
    calls     what an operator was called with
    context   what the numbers of a log stand for
    fill      which row each node belongs to
    columns   what a row says of its nodes
    tables    a log becomes :class:`~capture.origins.Origins`

Nothing here imports torch; ``torch_origins.py`` beside this package feeds it.
"""
