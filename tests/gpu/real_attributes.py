"""Launch attributes of declared kernels, set through cuda.bindings 13."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from capture.nodes.kernel import KernelPayload
from tests.workloads.chains import checked


def set_attributes(cuda: Any, node: Any, payload: KernelPayload) -> None:
    """Set the launch attributes that are declared."""
    rare = payload.attributes
    wanted: dict[str, Callable[[Any], None]] = {}
    if payload.cooperative:
        wanted["COOPERATIVE"] = lambda value: setattr(value, "cooperative", 1)
    if payload.priority:
        wanted["PRIORITY"] = lambda value: setattr(value, "priority", payload.priority)
    if payload.cluster:
        wanted["CLUSTER_DIMENSION"] = lambda value: _put(
            value.clusterDim, dict(zip("xyz", payload.cluster or (), strict=True))
        )
    if "mem_sync_domain" in rare:
        domain = cuda.CUlaunchMemSyncDomain(rare["mem_sync_domain"])
        wanted["MEM_SYNC_DOMAIN"] = lambda value: setattr(value, "memSyncDomain", domain)
    if "preferred_shared_memory_carveout" in rare:
        wanted["PREFERRED_SHARED_MEMORY_CARVEOUT"] = lambda value: setattr(
            value, "sharedMemCarveout", rare["preferred_shared_memory_carveout"]
        )
    if "device_updatable_kernel_node" in rare:
        wanted["DEVICE_UPDATABLE_KERNEL_NODE"] = lambda value: setattr(
            value.deviceUpdatableKernelNode, "deviceUpdatable", 1
        )
    if "access_policy_window" in rare:
        window = rare["access_policy_window"]
        properties = cuda.CUaccessProperty
        fields = {
            "base_ptr": window["base_address"],
            "num_bytes": window["size_bytes"],
            "hitRatio": window["hit_ratio"],
            "hitProp": properties(window["hit_property"]),
            "missProp": properties(window["miss_property"]),
        }
        wanted["ACCESS_POLICY_WINDOW"] = lambda value: _put(value.accessPolicyWindow, fields)
    for name, put in wanted.items():
        value = cuda.CUkernelNodeAttrValue()
        put(value)
        attribute = getattr(cuda.CUlaunchAttributeID, f"CU_LAUNCH_ATTRIBUTE_{name}")
        checked(cuda.cuGraphKernelNodeSetAttribute(node, attribute, value))


def _put(struct: Any, fields: Mapping[str, Any]) -> None:
    for name, value in fields.items():
        setattr(struct, name, value)
