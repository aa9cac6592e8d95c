"""A punchcard server for tests: a real loyalty API with a clock that moves, signed webhooks and faults.

    with punchcard_server.start() as p:
        card = p.issue(p.programs["standard"])
        p.till(p.locations[0]).stamp(card["id"], 3)

With pytest, the fixtures punchcard and punchcard_shop do the first line.
"""

from .calls import Error, Response
from .phone import Phone, field
from .receiver import Delivery, Receiver
from .server import Clock, Server, StartError, Till, binary, parse_time, start

__all__ = [
    "Clock", "Delivery", "Error", "Phone", "Receiver", "Response", "Server", "StartError", "Till",
    "binary", "field", "parse_time", "start",
]
