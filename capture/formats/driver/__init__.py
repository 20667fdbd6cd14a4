"""The driver's DOT, from text to graphs; loaded when such a file is read.

``syntax`` finds statements, ``labels`` takes labels apart, ``payloads`` and ``nodes`` make nodes
of them, ``graphs`` puts clusters together, ``evidence`` says what a dump lacks.
"""
