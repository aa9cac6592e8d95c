"""Receivers of webhooks in the server itself."""

from __future__ import annotations

import json
import threading
import time
import typing as t

from . import dev
from .calls import Error

LONGEST_WAIT = 60.0  # seconds that the server waits in one request


class Delivery(t.NamedTuple):
    """One request that a receiver got: an attempt to deliver an event. Further attempts have the same id and body."""

    event: str  # such as stamp.assigned
    id: str  # of the event
    body: bytes  # what was signed
    headers: t.Dict[str, str]  # by names such as Webhook-Id
    at: str  # by the server's clock

    def json(self) -> t.Any:
        """Return the decoded envelope; punchcard_server.rest has types for it, such as StampAssignedV2."""
        return json.loads(self.body)


# The event, the event's id and the number among the deliveries of that event.
_Name = t.Tuple[str, str, int]


def _named(all: t.Sequence[Delivery]) -> t.List[t.Tuple[_Name, Delivery]]:
    """Return deliveries with names that stay the same when a delivery of an earlier event arrives later."""
    seen: t.Dict[t.Tuple[str, str], int] = {}
    named = []
    for d in all:
        seen[d.event, d.id] = seen.get((d.event, d.id), 0) + 1
        named.append(((d.event, d.id, seen[d.event, d.id]), d))
    return named


class Receiver:
    """A target for webhooks in the server itself. It answers 200 until answer changes that. A reset removes it."""

    def __init__(self, control: dev.Client, made: dev.ReceiverState) -> None:
        self.id = made["id"]
        self.url = made["url"]  # for webhooks
        self.timeout = 10.0  # seconds of real time that wait waits
        self._dev = control
        self._lock = threading.Lock()
        self._returned: t.Set[_Name] = set()

    def wait(self, event: str = "") -> Delivery:
        """Return the first delivery of an event, or of any, that wait has not returned before, and wait for it if necessary.

        If none arrives within the timeout, it raises TimeoutError, which lists what did arrive.
        """
        deadline = time.monotonic() + self.timeout
        wanted = 0
        while True:
            left = deadline - time.monotonic()
            all = self._fetch(wanted, left)
            with self._lock:
                for name, d in _named(all):
                    if name not in self._returned and event in ("", d.event):
                        self._returned.add(name)
                        return d
            if left <= 0:
                came = ", ".join("%s %s" % (d.event, d.id) for d in all) or "nothing"
                raise TimeoutError("no delivery of %s within %g s; there came %s" % (event or "any event", self.timeout, came))
            wanted = len(all) + 1

    def deliveries(self) -> t.List[Delivery]:
        """Return all deliveries so far in the order of the events, also those that wait has returned."""
        return self._fetch(0, 0)

    def _fetch(self, wanted: int, left: float) -> t.List[Delivery]:
        """Return all deliveries, as soon as there are as many as wanted or the seconds that are left have passed."""
        milliseconds = int(min(max(left, 0), LONGEST_WAIT) * 1000)
        try:
            got = self._dev.get_receiver(self.id, wait=wanted, timeout_ms=milliseconds)["requests"]
        except Error as refusal:
            if refusal.status == 404:
                raise LookupError("the server was reset after this receiver was made") from None
            raise
        return [Delivery(r["event"] or "", r["event_id"] or "", r["body"].encode(), r["headers"], r["at"]) for r in got if r]

    def answer(self, status: int = 200, *, delay_ms: int = 0, headers: t.Optional[t.Dict[str, str]] = None) -> None:
        """Set the status of further answers, the real time before each, and headers. Status 0 cuts the connection."""
        self._dev.update_receiver(self.id, {"status": status, "delay_ms": delay_ms, "headers": headers})

    def replay(self, url: str, *, reversed: bool = False, copies: int = 1, event: str = "") -> t.List[dev.Replayed]:
        """Send what the receiver has got to url: late, out of order or more than once. It returns what became of each."""
        body: dev.ReplayBody = {"url": url, "order": "reversed" if reversed else "sequence", "copies": copies}
        if event:
            body["event"] = event
        return self._dev.replay_receiver(self.id, body)["data"]
