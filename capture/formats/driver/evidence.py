"""What a dump of the driver turned out to hold, and what it lacks, with the reason."""

from __future__ import annotations

from ...model import Evidence, EvidenceKind
from .nodes import Decoder


class Seen:
    """What has been seen while a dump was read."""

    def __init__(self) -> None:
        self.decoder = Decoder()
        self.launches = self.attributes = False
        self.edges = self.head_ports = self.tail_ports = False
        self.warnings: list[str] = []


def evidence(seen: Seen) -> dict[str, Evidence]:
    """Return the evidence of a dump's graphs, by kind."""
    again = "record the script with `cglens record` to get it"
    launch = (
        "launch dimensions are there, the arguments of kernels are not: no DOT has them"
        if seen.launches
        else "the DOT was printed without cudaGraphDebugDotFlagsVerbose and without the flags for "
        "parameters (or has no kernels), so there are neither launch dimensions nor arguments"
    )
    ports = seen.head_ports or seen.tail_ports
    printed = " and ".join(
        text for text, there in (("tail", seen.tail_ports), ("head", seen.head_ports)) if there
    )
    return {
        EvidenceKind.PARAMETERS: Evidence(present=False, reason=f"{launch}; {again}"),
        EvidenceKind.ATTRIBUTES: Evidence(
            present=seen.attributes,
            how="attributes that the driver's DOT prints" if seen.attributes else "",
            reason=""
            if seen.attributes
            else "the DOT was printed without cudaGraphDebugDotFlagsVerbose and without the flag "
            f"for kernel attributes, or has no kernels; {again}",
        ),
        EvidenceKind.EDGE_PORTS: Evidence(
            present=ports,
            how=f"{printed} labels of the DOT's edges; no DOT prints the edges' type"
            if ports
            else "",
            reason=""
            if ports
            else f"the DOT was printed without cudaGraphDebugDotFlagsVerbose; {again}"
            if seen.edges
            else "no edge was read",
        ),
        EvidenceKind.CAPTURE: Evidence(
            present=False, reason=f"a DOT does not say where and how a graph was captured; {again}"
        ),
        **{
            kind: Evidence(present=False, reason=f"a DOT has none; {again}")
            for kind in (
                EvidenceKind.TIMINGS,
                EvidenceKind.ORIGINS,
                EvidenceKind.MEMORY,
                EvidenceKind.BENCHMARKS,
                EvidenceKind.WRITES,
                EvidenceKind.UPDATES,
            )
        },
    }
