"""Tests of the server and its helpers that the README does not have."""

from __future__ import annotations

import subprocess
import sys
import threading
from datetime import datetime, timedelta

import pytest
from punchcard_server import Error, Server, StartError, start


def test_reset(punchcard_shop: Server) -> None:
    shop = punchcard_shop
    programs, till = shop.programs, shop.till(shop.locations[0])
    assert shop.till(shop.locations[0]).id == till.id
    receiver, phone = shop.receiver(), shop.phone("google")
    phone.add(shop.issue(shop.programs["standard"])["id"])
    shop.reset()
    assert shop.programs == programs
    assert shop.till(shop.locations[0]).stamp(shop.issue(shop.programs["standard"])["id"], 1)
    with pytest.raises(Error):
        till.lookup("crd_none")
    with pytest.raises(LookupError, match="reset"):
        receiver.wait()
    with pytest.raises(LookupError, match="reset"):
        phone.state()
    with pytest.raises(LookupError, match="no card"):
        shop.phone("apple").state()


def test_waiting(punchcard_shop: Server) -> None:
    shop = punchcard_shop
    receiver = shop.receiver()
    shop.webhook(shop.programs["standard"], receiver.url, "card.added", "stamp.assigned")
    card = shop.issue(shop.programs["standard"])
    stamps = threading.Timer(0, lambda: shop.till(shop.locations[0]).stamp(card["id"], 1))
    stamps.start()
    assert receiver.wait("stamp.assigned").event == "stamp.assigned"
    stamps.join()
    assert receiver.wait().event == "card.added"  # which was not returned yet
    assert [d.event for d in receiver.deliveries()] == ["card.added", "stamp.assigned"]
    receiver.timeout = 0.01
    with pytest.raises(TimeoutError, match="no delivery of any event .* there came card.added evt_.*, stamp.assigned evt_"):
        receiver.wait()
    copy = shop.receiver()
    assert [r["event"] for r in receiver.replay(copy.url, reversed=True)] == ["stamp.assigned", "card.added"]


def test_money_and_people(punchcard_shop: Server) -> None:
    shop = punchcard_shop
    location = shop.locations[0]
    person = shop.dev.create_staff({"name": "Grace", "pin": "4711"})
    till = shop.till(location).sign_in(person["id"], "4711").idempotency_key("one")
    card = shop.issue(shop.programs["prepaid"])
    first = till.top_up(card["id"], 500)
    assert till.top_up(card["id"], 500) == first  # the same key
    staff = first["transaction"]["staff"]
    assert staff and staff["name"] == "Grace"
    again = shop.till(location)
    again.reverse(again.spend(card["id"], 200)["transaction"]["id"])
    assert [row["type"] for row in shop.transactions(card["id"])] == ["topup", "spend", "reversal"]
    with pytest.raises(Error) as refused:
        again.spend(card["id"], 501)
    assert (refused.value.status, refused.value.code) == (422, "prepaid_insufficient_balance")
    assert shop.install(card["install_url"]).startswith(shop.origin + "/c/")
    with pytest.raises(Error):
        shop.install(card["install_url"] + "x")


def test_refusals(punchcard_shop: Server) -> None:
    shop = punchcard_shop
    with pytest.raises(ValueError, match="not a URL"):
        shop.do("GET", "cards")
    for id in ("", ".", ".."):
        with pytest.raises(ValueError):
            shop.card(id)
    card = shop.issue(shop.programs["standard"])
    with pytest.raises(Error) as refused:
        shop.card(card["id"] + "/contact")  # one segment
    assert refused.value.status == 404
    with pytest.raises(Error) as refused:
        shop.issue(shop.programs["standard"], {"holder_email": "nobody"})
    assert [d["field"] for d in refused.value.details] == ["holder_email"]
    assert "holder_email" in str(refused.value) and refused.value.request_id in str(refused.value)
    shop.fault({"status": 502, "body": "<h1>Bad gateway</h1>"})
    with pytest.raises(Error, match="502 : <h1>Bad gateway</h1>"):  # not the API's
        shop.rest.get_me()
    limited = shop.key("cards:read")
    assert shop.do("GET", "/programs", limited).status == 403
    with pytest.raises(ValueError, match="no time zone"):
        shop.clock.set(datetime(2100, 1, 1))
    with pytest.raises(Error):
        shop.clock.advance(timedelta(seconds=-1))


def test_end() -> None:
    server = start()
    server.close()
    server.close()
    with pytest.raises(ConnectionError):
        server.rest.get_me()
    with pytest.raises(StartError, match="--clock"):
        start("--clock", "tomorrow")
    with start("--listen", "127.0.0.2:0") as other:  # a flag that is given wins
        assert other.origin.startswith("http://127.0.0.2:")
        assert other.rest.get_me()["shop"]["id"] == other.shop


def test_without_pytest() -> None:
    program = "import sys, punchcard_server as p\nwith p.start() as s: print(s.rest.get_me()['shop']['id'] == s.shop)"
    program += "\nprint('pytest' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", program], text=True).split() == ["True", "False"]
