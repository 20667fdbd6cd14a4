"""Captured graphs, described and written: what is known of one, its nodes, where they come from."""

from __future__ import annotations

from time import perf_counter_ns as clock

from ..codec import dump
from ..model import Evidence, EvidenceKind, Graph, GraphInfo
from ..origins import Origins
from .observer import Tracked
from .open_capture import OpenCapture
from .places import place_key
from .replays import ReplayObserver


class CaptureWriter(ReplayObserver):
    """Names captures and writes what was read of them."""

    def _name(self, capture: OpenCapture) -> None:
        """Give a capture its key."""
        ours = getattr(self.ours, "spot", None)
        if ours is not None:
            capture.spot, capture.how = ours, "captured"
        spot = capture.spot
        key = place_key(spot.place, self.roots)
        capture.ordinal = self._ordinals.get(key, 0)
        self._ordinals[key] = capture.ordinal + 1
        capture.key = f"{key}#{capture.ordinal}"
        if spot.label:
            capture.key += f"+{spot.label.replace(', ', '+')}"

    def _info(self, capture: OpenCapture) -> GraphInfo:
        info = capture.info()
        extraction = capture.extraction
        if extraction is not None:
            info.warnings.extend(extraction.warnings)
            info.evidence.update(extraction.evidence)
        elif capture.unread:
            info.warnings.append(f"its nodes could not be read: {capture.unread}")
        info.evidence[EvidenceKind.CAPTURE.value] = Evidence(
            present=True, how="methods of torch.cuda.CUDAGraph, observed"
        )
        return info

    def _write_graph(self, info: GraphInfo, capture: OpenCapture, failed: bool = False) -> None:
        found = capture.found or self._origins_of(info, capture)
        start = clock()
        self._describe_machine()
        if self._latest.get(capture.stream_handle) is capture:
            del self._latest[capture.stream_handle]
        graph: Graph | None = None
        if capture.extraction is not None:
            graph = capture.extraction.graph
            capture.extraction = None
        for sink in self.sinks:
            sink.graph(self._serial, info, graph, failed)
        self._costs["write_ns"] += clock() - start
        if found is not None:
            self._write_origins(found, capture)

    def _origins_of(self, info: GraphInfo, capture: OpenCapture) -> Origins | None:
        """Return where the nodes of a capture come from, and note it as evidence."""
        kind = EvidenceKind.ORIGINS.value
        noted, extraction = capture.origins, capture.extraction
        if noted is None or extraction is None:
            source = self.origin_source
            reason = source.reason if source is not None else ""
            if reason:
                info.evidence[kind] = Evidence(present=False, reason=reason)
            return None
        start = clock()
        try:
            handles = next((nodes for path, nodes in extraction.handles if not path), [])
            found = capture.found = noted.build(capture.key, handles)
            info.evidence[kind] = Evidence(
                present=True, how="; ".join(found.how), cost_ns=noted.cost_ns
            )
            return found
        except Exception as error:
            self.complain("origins", error)
            reason = f"they could not be put together: {type(error).__name__}: {error}"
            info.evidence[kind] = Evidence(present=False, reason=reason)
            return None
        finally:
            self._costs["origins_ns"] += max(noted.cost_ns, clock() - start)

    def _write_origins(self, found: Origins, capture: OpenCapture) -> None:
        start = clock()
        document = dump(found)
        for sink in self.sinks:
            sink.write("origins", self._serial, document=document)
        capture.found = None
        self._costs["origins_ns"] += clock() - start

    def _find_owners(self, graph: object, tracked: Tracked, capture: OpenCapture) -> None:
        """Find who owns what a graph uses on the host; never raises."""
        noticing, extraction = capture.noticing, capture.extraction
        if self.notices is None or noticing is None or extraction is None:
            return
        start = clock()
        try:
            self.notices.find_owners(
                noticing,
                extraction.graph,
                graph,
                self._serial + 1,
                lambda: self.counted.get(tracked.key),
            )
        except Exception as error:
            self.complain("owners on the host", error)
        self.add_cost("owners", clock() - start)
