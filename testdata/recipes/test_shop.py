"""A test with Python's standard library alone.

PUNCHCARD=./punchcard python3 -m unittest testdata/recipes/test_shop.py
"""

import hashlib
import hmac
import json
import os
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.request


def call(url, key=None, method="GET", body=None, headers=None):
    """Make a request and return status, headers and the decoded answer."""
    headers = dict(headers or {})
    if key:
        headers["Authorization"] = "Bearer " + key
    if body is not None:
        headers["Content-Type"] = "application/json"
        body = json.dumps(body).encode()
    request = urllib.request.Request(url, body, headers, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            raw, status, headers = answer.read(), answer.status, answer.headers
    except urllib.error.HTTPError as refusal:
        raw, status, headers = refusal.read(), refusal.code, refusal.headers
    return status, headers, json.loads(raw) if raw else None


class Shop(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.log = tempfile.TemporaryFile()
        cls.server = subprocess.Popen(
            [os.environ.get("PUNCHCARD", "./punchcard"), "dev", "--listen", "127.0.0.1:0", "--exit-with-stdin"],
            stdin=subprocess.PIPE,  # closes with this process, also if that is killed
            stdout=subprocess.PIPE, stderr=cls.log)
        line = cls.server.stdout.readline()  # no port is guessed, nothing sleeps
        if not line:
            cls.server.wait()
            cls.log.seek(0)
            raise RuntimeError("the server did not start: " + cls.log.read().decode())
        cls.ready = json.loads(line)

    @classmethod
    def tearDownClass(cls):
        cls.server.stdin.close()
        cls.server.wait()
        cls.server.stdout.close()
        cls.log.close()

    def setUp(self):
        self.dev("POST", "/reset")

    def api(self, method, path, body=None, **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        return call(self.ready["base_url"] + path, self.ready["api_key"], method, body, headers)

    def till(self, method, path, body=None):
        return call(self.ready["origin"] + "/till/v1" + path, self.ready["till_token"], method, body)

    def dev(self, method, path, body=None):
        return call(self.ready["origin"] + "/dev" + path, None, method, body)[2]

    def issue(self, **fields):
        return self.api("POST", "/programs/%s/cards" % self.ready["program_ids"]["standard"], fields)[2]

    def test_a_stamp_reaches_the_webhook_signed(self):
        target = self.dev("POST", "/receiver")
        _, _, webhook = self.api("POST", "/programs/%s/webhooks" % self.ready["program_ids"]["standard"],
                                 {"url": target["url"], "events": ["stamp.assigned"]})
        card = self.issue(holder_name="Ada")
        self.till("POST", "/cards/%s/stamps" % card["id"], {"count": 2})
        [got] = self.dev("GET", "/receiver/%s?wait=1" % target["id"])["requests"]
        headers = {name.lower(): value for name, value in got["headers"].items()}
        signature = dict(part.split("=", 1) for part in headers["x-service-signature"].split(","))
        want = hmac.new(webhook["secret"].encode(), (signature["t"] + "." + got["body"]).encode(), hashlib.sha256)
        self.assertEqual(want.hexdigest(), signature["v1"])
        self.assertEqual(json.loads(got["body"])["event"], "stamp.assigned")

    def test_time_moves_at_a_word(self):
        _, _, card = self.api("POST", "/programs/%s/cards" % self.ready["program_ids"]["access"],
                              {"expires_at": "2100-01-01T00:00:00Z"})
        self.assertEqual(self.till("POST", "/cards/%s/uses" % card["id"], {})[0], 201)
        self.dev("POST", "/clock", {"now": "2100-01-02T00:00:00Z"})
        status, _, refusal = self.till("POST", "/cards/%s/uses" % card["id"], {})
        self.assertEqual((status, refusal["error"]["code"]), (422, "card_expired"))

    def test_a_client_that_is_too_fast_is_told_when_to_come_back(self):
        self.dev("POST", "/faults", {"status": 429, "headers": {"Retry-After": "30"}})
        status, headers, _ = self.api("GET", "/cards")
        self.assertEqual((status, headers["Retry-After"]), (429, "30"))
        self.api("GET", "/cards")  # at once
        [hint] = self.dev("GET", "/requests")["hints"]
        self.assertEqual(hint["code"], "retried_before_retry_after")

    def test_nothing_is_left_of_the_test_before(self):
        self.assertEqual(self.api("GET", "/cards")[2]["data"], [])
        self.assertEqual(self.dev("GET", "/requests")["data"][1:], [])


if __name__ == "__main__":
    unittest.main()
