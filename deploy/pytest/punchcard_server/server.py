"""The server as a process of its own, with what tests ask of it."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import typing as t
import urllib.parse
from datetime import datetime, timedelta, timezone

from . import dev, rest, till
from .calls import Error, Response, send
from .phone import Phone
from .receiver import Receiver

STOP_TIMEOUT = 5.0  # seconds that a server may take to stop before it is killed
SHOWN_ENTRIES = 200  # newest entries of a journal
SHOWN_BODY = 600  # characters of the body of a refusal

Path = t.Union[str, "os.PathLike[str]"]


def binary() -> str:
    """Return the path of the program that is in this package."""
    path = pathlib.Path(__file__).with_name("bin") / ("punchcard.exe" if os.name == "nt" else "punchcard")
    if not path.is_file():
        raise FileNotFoundError("%s is missing: install a wheel of punchcard-server, or name another binary" % path)
    return str(path)


class StartError(RuntimeError):
    """The server did not start. The message is what it wrote."""


def start(*flags: str, binary: t.Optional[Path] = None) -> "Server":
    """Start a server on a port of its own with a demo shop, and return it as soon as it answers.

    flags are those of "punchcard dev", such as "--seed", "shop.json" or "--clock", "2026-03-01T09:00:00Z".
    binary is the program to start, by default that of this package. The server ends with close, at the end
    of a with block, and when this process ends, also if it is killed.
    """
    return Server(flags, binary)


class Server:
    """A running server with the demo shop: a coffee shop with two locations and a published program of each type.

    All methods may be called from several threads at once. A refusal raises Error.
    """

    def __init__(self, flags: t.Sequence[str] = (), program: t.Optional[Path] = None) -> None:
        command = [os.fspath(program) if program else binary(), "dev", "--listen", "127.0.0.1:0"]
        command += ["--exit-with-stdin", "--api-key-max-per-shop", "1000", *flags]
        # A flag of the server that the environment sets, such as PUNCHCARD_DB, is not meant for a test.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PUNCHCARD_")}
        self._log = tempfile.TemporaryFile()
        # Standard input closes with this process. In a session of its own the server gets no Ctrl-C, and
        # so lives until the tests have ended.
        windows = os.name == "nt"
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env=environment,
                start_new_session=not windows,
                creationflags=0x200 if windows else 0,  # CREATE_NEW_PROCESS_GROUP
            )
        except OSError as failure:
            self._log.close()
            raise StartError("%s cannot be started: %s" % (command[0], failure)) from failure
        self._pipes = [pipe for pipe in (self._process.stdin, self._process.stdout) if pipe]
        line = self._pipes[1].readline()
        try:
            ready: dev.Ready = json.loads(line)
        except ValueError:
            text = self.close() or line.decode(errors="replace").strip()
            raise StartError("%s\n%s" % (" ".join(command), text)) from None
        self._lock = threading.Lock()
        self._tills: t.Dict[str, dev.CreatedDevice] = {}
        self._take(ready)
        self.clock = Clock(self)

    def _take(self, ready: dev.Ready) -> None:
        self.ready = ready  # the whole ready line
        self.origin = ready["origin"]  # http://127.0.0.1:PORT
        self.url = ready["base_url"]  # of the REST API
        self.till_url = self.origin + "/till/v1"
        self.shop = ready["shop_id"]
        self.programs = ready["program_ids"]  # ids by type: standard, private, discount, access, prepaid
        self.locations = ready["location_ids"]
        self.refs = ready.get("refs", {})  # ids by the refs of a seed file
        self.api_key = ready["api_key"]  # with every scope
        self.restricted_api_key = ready["restricted_api_key"]  # with every scope, at locations[0] only
        self.mcp_key = ready["mcp_key"]
        self.till_token = ready["till_token"]  # of a device at locations[0]
        self.rest = rest.Client(self.url, self.api_key)  # every operation of the REST API
        self.dev = dev.Client(self.origin + "/dev")  # every operation of the control API

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> str:
        """Stop the server and return its log. A second call does nothing."""
        if self._log.closed:
            return ""
        for pipe in self._pipes:
            pipe.close()
        try:
            self._process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:  # a client holds a request
            self._process.kill()
            self._process.wait()
        text = self.log()
        self._log.close()
        return text

    @property
    def pid(self) -> int:
        """The id of the server's process."""
        return self._process.pid

    def log(self) -> str:
        """Return what the server has logged."""
        log = self._log.fileno()
        size = os.fstat(log).st_size
        if hasattr(os, "pread"):
            text = os.pread(log, size, 0)  # the server writes at the offset that both processes share
        else:
            os.lseek(log, 0, os.SEEK_SET)
            text = os.read(log, size)
        return text.decode(errors="replace").strip()

    def reset(self) -> None:
        """Give the server the state of its start: the demo shop, its keys and the time, and nothing else.

        Tills, receivers and phones must be asked for again.
        """
        with self._lock:
            self._take(self.dev.reset() or self.ready)
            self._tills.clear()

    def do(
        self,
        method: str,
        path: str,
        key: str = "",
        body: t.Any = None,
        headers: t.Optional[t.Mapping[str, str]] = None,
    ) -> Response:
        """Make a request and return the answer, also a refusal.

        path is a path of the REST API (/cards) or a whole URL. body is text, or a value to encode as JSON.
        A connection that is cut raises ConnectionError.
        """
        return send(method, self.url + path if path.startswith("/") else path, key, body, headers)

    def issue(self, program: str, fields: t.Optional[rest.CardFields] = None) -> rest.IssuedCard:
        """Issue a card of the demo shop over the REST API."""
        return self.rest.issue_card(program, fields)

    def card(self, card: str) -> rest.CardDetail:
        """Return a card of the demo shop."""
        return self.rest.get_card(card)

    def transactions(self, card: str) -> t.List[rest.Transaction]:
        """Return the transactions of a card, oldest first."""
        rows: t.List[rest.Transaction] = []
        page = self.rest.list_transactions(card_id=card, limit=100)
        rows += page["data"]
        while page["next_cursor"]:
            page = self.rest.list_transactions(card_id=card, limit=100, cursor=page["next_cursor"])
            rows += page["data"]
        return rows[::-1]

    def install(self, install_url: str) -> str:
        """Install a card by its install link, as the holder does, and return the URL of the card's page."""
        url = self.origin + urllib.parse.urlsplit(install_url).path + "/install"
        answer = send("POST", url, body={"platform": "apple"})
        if answer.status >= 400:
            raise Error("POST /i/…/install", answer)
        return t.cast(str, answer.json()["card_url"])

    def key(self, *scopes: str) -> str:
        """Create a key of the demo shop with the scopes, by default with every scope, and return its secret."""
        return self.dev.create_key({"scopes": list(scopes)} if scopes else {})["key"]

    def till(self, location: str) -> "Till":
        """Return a till at a location of any shop. Until a reset it is always the same device."""
        with self._lock:
            if location not in self._tills:
                self._tills[location] = self.dev.create_device({"location_id": location})
            device = self._tills[location]
        return Till(self.till_url, device["id"], location, device["token"])

    def webhook(self, program: str, url: str, *events: str) -> rest.CreatedWebhook:
        """Create a webhook of the demo shop that sends the events, by default every event, to url.

        Its "secret" is what deliveries are signed with. The program is part of its address only and filters nothing.
        """
        return self.rest.create_webhook(program, {"url": url, "events": list(events) or ["*"]})

    def receiver(self) -> Receiver:
        """Return a new target for webhooks in the server itself, which answers 200."""
        return Receiver(self.dev, self.dev.create_receiver())

    def settle(self) -> dev.Settled:
        """Deliver webhooks and mail until none is due, and return how many were."""
        return self.dev.settle()

    def phone(self, platform: t.Literal["apple", "google"]) -> Phone:
        """Return a new phone with a wallet and without cards."""
        return Phone(self.dev, platform)

    def fault(self, fault: dev.FaultBody) -> str:
        """Make the next requests to the REST and till APIs fail or take long, and return the id of the fault."""
        return self.dev.add_fault(fault)["id"]

    def clear_faults(self) -> None:
        """Remove all faults."""
        self.dev.clear_faults()

    def emails(self) -> t.List[dev.Email]:
        """Return the mail that the server would have sent, oldest first."""
        return self.dev.list_emails()["data"]

    def requests(self, method: t.Optional[str] = None, path: t.Optional[str] = None) -> t.List[dev.RequestEntry]:
        """Return the newest thousand requests to the REST and till APIs, oldest first.

        path is a pattern as in a fault, such as /cards/*; with it or a method, requests for pages are there too.
        """
        kind: t.Any = "request" if method or path else None
        return t.cast(t.List[dev.RequestEntry], self.dev.list_requests(limit=1000, kind=kind, method=method, path=path)["data"])

    def journal(self) -> str:
        """Return a line for each request and each attempt to deliver a webhook since the start or the last reset."""
        entries: t.List[t.Any] = [*self.dev.list_requests(limit=1000)["data"], *self.dev.list_requests(limit=1000, kind="delivery")["data"]]
        entries.sort(key=lambda entry: int(entry["seq"]))
        head = "%d requests and attempts at webhooks at %s" % (len(entries), self.origin)
        return "\n".join([head] + [_line(entry) for entry in entries[-SHOWN_ENTRIES:]])


def _line(entry: t.Any) -> str:
    """Return an entry of the journal as text, with a further line for each hint."""
    if "method" in entry:
        path = entry["path"] + ("?" + entry["query"] if entry["query"] else "")
        status = entry["response"]["status"]
        text = "%-6s %s  %d  %d ms" % (entry["method"], path, status, entry["duration_ms"])
        text += "  replayed" * entry["replayed"] + ("  fault " + entry["fault"] if entry["fault"] else "")
        if status >= 400:
            text += "  " + json.dumps(entry["response"]["body"], ensure_ascii=False)[:SHOWN_BODY]
    else:
        outcome = entry["error"] or entry["status"]
        text = "webhook %s %s to %s  attempt %d  %s" % (entry["event"], entry["event_id"], entry["url"], entry["attempt"], outcome)
    return "".join(["%5d  %s" % (entry["seq"], text)] + ["\n       hint %(code)s: %(message)s" % hint for hint in entry["hints"]])


class Clock:
    """The server's one clock: expiry, idempotency windows, rate limits and retries of webhooks follow it."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def now(self) -> datetime:
        """Return the time of the clock, in UTC."""
        return parse_time(self._server.dev.get_clock()["now"])

    def advance(self, by: t.Union[timedelta, str]) -> None:
        """Advance the clock by a timedelta, or a text such as "26h" or "3d".

        It stops at each instant at which a webhook is due and sends it, so that all that becomes due has happened.
        """
        self._server.dev.move_clock({"advance": "%dms" % (by // timedelta(milliseconds=1)) if isinstance(by, timedelta) else by})

    def set(self, now: datetime) -> None:
        """Advance the clock to a time, with a zone, that is not in its past."""
        if now.tzinfo is None:
            raise ValueError("%s has no time zone" % now)
        self._server.dev.move_clock({"now": now.isoformat()})


def parse_time(text: str) -> datetime:
    """Return a time of the API, such as 2026-01-02T03:04:05.678Z."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)


class Till:
    """A device at one location. Methods take a card's id or the content of its QR code. A refusal raises Error.

    api has every operation of the till API, with each field.
    """

    def __init__(self, url: str, id: str, location: str, token: str, headers: t.Optional[t.Mapping[str, str]] = None) -> None:
        self.id = id  # of the device
        self.location = location
        self.token = token
        self.api = till.Client(url, token, headers)

    def _with(self, name: str, value: str) -> "Till":
        return Till(self.api.url, self.id, self.location, self.token, {**self.api.headers, name: value})

    def pin(self, pin: str) -> "Till":
        """Return the same till with a staff PIN in its requests."""
        return self._with("X-Staff-Pin", pin)

    def sign_in(self, staff: str, pin: str) -> "Till":
        """Sign a member of staff in, and return the same till with the session in its requests."""
        return self._with("X-Staff-Session", self.api.open_staff_session({"staff_id": staff, "pin": pin})["token"])

    def idempotency_key(self, key: str) -> "Till":
        """Return the same till with an Idempotency-Key in its requests, for one write and its retries."""
        return self._with("Idempotency-Key", key)

    def lookup(self, card: str) -> till.Lookup:
        """Return a card. It changes nothing."""
        return self.api.lookup_card(card)

    def issue(self, program: str, fields: t.Optional[till.CounterFields] = None) -> till.CounterCard:
        """Issue a card, which is active at once."""
        return self.api.issue_card_at_counter(program, fields)

    def stamp(self, card: str, count: int) -> till.Stamped:
        """Give a card 1 to 100 stamps."""
        return self.api.stamp_card(card, {"count": count})

    def redeem(self, card: str, prize: str) -> till.Stamped:
        """Redeem a prize."""
        return self.api.redeem_prize(card, {"prize_id": prize})

    def top_up(self, card: str, cents: int) -> till.Stamped:
        """Add money to a prepaid card."""
        return self.api.top_up_card(card, {"amount_cents": cents})

    def spend(self, card: str, cents: int) -> till.Stamped:
        """Take money from a prepaid card."""
        return self.api.spend_from_card(card, {"amount_cents": cents})

    def use(self, card: str) -> till.Stamped:
        """Record the use of an access or discount card."""
        return self.api.use_card(card)

    def reverse(self, transaction: str) -> till.Stamped:
        """Reverse a transaction of the till's location, by its id or client_reference."""
        return self.api.reverse_transaction(transaction)


def main() -> None:
    """Run the program with the arguments of this process, as the command "punchcard"."""
    command = [binary(), *sys.argv[1:]]
    if os.name != "nt":
        os.execv(command[0], command)
    try:
        sys.exit(subprocess.call(command))
    except KeyboardInterrupt:  # the program gets it too
        sys.exit(130)
