"""Phones with a wallet in the server itself."""

from __future__ import annotations

import threading
import time
import typing as t

from . import dev
from .calls import Error
from .receiver import LONGEST_WAIT


def field(card_pass: dev.PhonePass, key: str) -> str:
    """Return the value of a field of a pass, such as count, balance or holder, and nothing if the pass does not have it."""
    return next((f["value"] for f in card_pass["fields"] if f["key"] == key), "")


class Phone:
    """A phone with a wallet. It reads a pass again when the server tells it that the card has changed. A reset removes it."""

    def __init__(self, control: dev.Client, platform: t.Literal["apple", "google"]) -> None:
        self.platform: t.Literal["apple", "google"] = platform
        self.timeout = 10.0  # seconds of real time that wait waits
        self._dev = control
        self._lock = threading.Lock()
        self._id = ""

    def add(self, card: str) -> dev.PhonePass:
        """Add a card of the demo shop to the phone and return its pass. What a phone would refuse raises Error."""
        body: dev.PhoneBody = {"card_id": card, "platform": self.platform}
        with self._lock:
            if self._id:
                body["phone_id"] = self._id
            made = self._dev.add_to_phone(body)
            self._id = made["id"]
        return [p for p in made["passes"] if p["card_id"] == card][-1]

    def state(self) -> dev.PhoneDetail:
        """Return what the phone shows: its passes, its notices and what it complained of."""
        return self._fetch(0, 0)

    def _fetch(self, arrived: int, left: float) -> dev.PhoneDetail:
        if not self._id:
            raise LookupError("no card was added to this phone")
        try:
            return self._dev.get_phone(self._id, arrived=arrived, timeout_ms=int(min(max(left, 0), LONGEST_WAIT) * 1000))
        except Error as refusal:
            if refusal.status == 404:
                raise LookupError("the server was reset after this phone was made") from None
            raise

    def wait(self, card: str, key: str, value: str) -> dev.PhonePass:
        """Return the pass of a card as soon as one of its fields has a value.

        If that does not happen within the timeout, it raises TimeoutError, which has what the field was.
        """
        deadline = time.monotonic() + self.timeout
        arrived = 0
        while True:
            left = deadline - time.monotonic()
            state = self._fetch(arrived, left)
            shown = [p for p in state["passes"] if p["card_id"] == card]
            for one in shown:
                if field(one, key) == value:
                    return one
            if left <= 0:
                has = ", ".join(repr(field(one, key)) for one in shown) or "no pass"
                raise TimeoutError("no pass of %s has the %s %r within %g s; there is %s" % (card, key, value, self.timeout, has))
            arrived = state["arrived"] + 1
