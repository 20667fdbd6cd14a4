"""Calls of CUDA's runtime and driver that launch work, as CUPTI numbers their callbacks.

Numbers are only ever added (``cupti_runtime_cbid.h``, ``cupti_driver_cbid.h``); those that end in
``_ptds`` and ``_ptsz`` are of programs whose threads have a default stream each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

DRIVER_DOMAIN, RUNTIME_DOMAIN, RESOURCE_DOMAIN = 1, 2, 3
LAUNCH_KERNEL = 211
"""``cudaLaunchKernel`` among the callbacks of the runtime."""

_RUNTIME = (
    (LAUNCH_KERNEL, 214),  # cudaLaunchKernel
    (269, 270),  # cudaLaunchCooperativeKernel
    (430, 431),  # cudaLaunchKernelExC
    (505, 506),  # __cudaLaunchKernel
    (31, 32, 215, 216),  # cudaMemcpy, cudaMemcpy2D
    (41, 44, 225, 228),  # cudaMemcpyAsync, cudaMemcpy2DAsync
    (160, 161),  # cudaMemcpyPeer, cudaMemcpyPeerAsync
    (482, 483, 509, 510),  # cudaMemcpyBatchAsync
    (49, 51, 233, 235),  # cudaMemset, cudaMemsetAsync
)
_DRIVER = (
    (307, 442),  # cuLaunchKernel
    (477, 478),  # cuLaunchCooperativeKernel
    (652, 653),  # cuLaunchKernelEx
    (276, 278, 280, 397, 398, 399),  # cuMemcpyHtoD, cuMemcpyDtoH, cuMemcpyDtoD
    (277, 279, 281, 421, 422, 423),  # their asynchronous forms
    (305, 306, 408, 418),  # cuMemcpy, cuMemcpyAsync
    (318, 319, 409, 426),  # cuMemcpyPeer, cuMemcpyPeerAsync
    (776, 777, 796, 797),  # cuMemcpyBatchAsync
    (249, 250, 251, 411, 412, 413),  # cuMemsetD8, cuMemsetD16, cuMemsetD32
    (216, 218, 220, 428, 429, 430),  # their asynchronous forms
)
LAUNCHING = tuple(
    (domain, number)
    for domain, groups in ((RUNTIME_DOMAIN, _RUNTIME), (DRIVER_DOMAIN, _DRIVER))
    for group in groups
    for number in group
)
"""Domain and number of every call that launches a kernel, a copy or a memset."""


class LaunchingCalls:
    """Switches callbacks of calls that launch work on and off.

    Parameters
    ----------
    enable : callable
        ``enable(wanted, domain, number)`` switches one, and raises where CUPTI refuses.
    """

    def __init__(self, enable: Callable[[bool, int, int], Any]) -> None:
        self._enable = enable
        self._known = LAUNCHING

    def watch(self, wanted: bool, refusal: type[Exception]) -> None:
        """Switch all of them; those that an older CUPTI does not know are left out.

        Parameters
        ----------
        wanted : bool
        refusal : type
            What `enable` raises.

        Raises
        ------
        Exception
            Even the launch of a kernel is refused.
        """
        known = []
        for domain, number in self._known:
            try:
                self._enable(wanted, domain, number)
            except refusal:
                if (domain, number) == LAUNCHING[0]:
                    raise
            else:
                known.append((domain, number))
        self._known = tuple(known)
