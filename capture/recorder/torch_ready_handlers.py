"""The operators that a dry run treats in a way of their own, by their names in ``aten``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .torch_ready_backends import flattened
from .torch_ready_call import Call
from .torch_ready_copies import copy, move, pin, pinned, where
from .torch_ready_lengths import ctc_loss, ctc_loss_backward, pack
from .torch_ready_operators import (
    bincount,
    check_errors,
    dynamic,
    either,
    equal,
    histogram,
    index,
    index_put,
    item,
    masked_select,
    matrix_exponential,
    nonzero,
    normal,
    rare,
    repeat_interleave,
    solver,
    unique,
    unique_consecutive,
    unique_dim,
)

HANDLERS: dict[str, Callable[[Call], Any]] = {
    "_local_scalar_dense": item,
    "item": item,
    "equal": equal,
    "allclose": equal,
    "is_nonzero": equal,
    "nonzero": nonzero,
    "masked_select": masked_select,
    "_unique2": unique,
    "unique_dim": unique_dim,
    "unique_consecutive": unique_consecutive,
    "repeat_interleave": repeat_interleave,
    "bincount": bincount,
    "index": index,
    "_unsafe_index": index,
    "index_put": index_put,
    "index_put_": index_put,
    "_unsafe_index_put": index_put,
    "_index_put_impl_": index_put,
    "_to_copy": move,
    "copy_": copy,
    "_pin_memory": pin,
    "is_pinned": pinned,
    "_linalg_check_errors": check_errors,
    "histc": histogram,
    "where": where,
    "normal": normal,
    "linalg_matrix_exp": matrix_exponential,
    "logical_or": either,
    "logical_and": either,
    "bitwise_or": either,
    "bitwise_and": either,
    "any": rare,
    "isnan": rare,
    "isinf": rare,
    "_ctc_loss": ctc_loss,
    "_ctc_loss_backward": ctc_loss_backward,
    "_pack_padded_sequence": pack,
    "_cudnn_rnn_flatten_weight": flattened,
}
HANDLERS |= dict.fromkeys(("to_sparse", "_coalesce", "_to_sparse", "_to_sparse_csr"), dynamic)
HANDLERS |= dict.fromkeys(
    (
        "linalg_eig",
        "linalg_eigvals",
        "_linalg_eigvals",
        "_linalg_eigh",
        "_linalg_svd",
        "linalg_lstsq",
    ),
    solver,
)
