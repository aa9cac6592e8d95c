"""Requests to a server, with Python's standard library alone."""

from __future__ import annotations

import email.message
import http.client
import json
import typing as t
import urllib.parse

TIMEOUT = 300.0  # seconds that an answer may take: the server itself waits at most a minute


class Error(Exception):
    """A refusal of the server: an answer with a status of 400 or more."""

    def __init__(self, request: str, response: "Response") -> None:
        try:
            body = json.loads(response.body)["error"]
        except (ValueError, KeyError, TypeError):  # the answer is not the API's
            body = {"message": response.body.decode(errors="replace")}
        self.request = request  # method and path
        self.status = response.status
        self.headers = response.headers
        self.code: str = body.get("code") or ""  # never changes its meaning
        self.message: str = body.get("message") or ""
        self.details: t.List[t.Dict[str, str]] = body.get("details") or []  # field, code and message of each invalid field
        self.request_id: str = body.get("request_id") or response.headers.get("X-Request-Id") or ""
        fields = "".join(" [%(field)s %(code)s: %(message)s]" % d for d in self.details)
        super().__init__("%s: %d %s: %s%s (%s)" % (request, self.status, self.code, self.message, fields, self.request_id))


class Response(t.NamedTuple):
    """An answer with its whole body."""

    status: int
    headers: email.message.Message  # a mapping whose names have any case
    body: bytes

    def json(self) -> t.Any:
        """Return the decoded body, or None if there is none."""
        return json.loads(self.body) if self.body else None


def send(method: str, url: str, key: str = "", body: t.Any = None, headers: t.Optional[t.Mapping[str, str]] = None) -> Response:
    """Make a request and return the answer, also a refusal. A connection that is cut raises ConnectionError."""
    sent = {"Connection": "close", **(headers or {})}
    if key:
        sent["Authorization"] = "Bearer " + key
    if body is not None:
        sent.setdefault("Content-Type", "application/json")
        body = body if isinstance(body, (str, bytes)) else json.dumps(body)
        body = body.encode() if isinstance(body, str) else body
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https"):
        raise ValueError("%r is not a URL of http or https" % url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=TIMEOUT)
    try:
        connection.request(method, urllib.parse.urlunsplit(("", "", parts.path, parts.query, "")), body, sent)
        answer = connection.getresponse()
        return Response(answer.status, answer.headers, answer.read())
    except http.client.HTTPException as cut:
        raise ConnectionError("%s %s: the connection was cut" % (method, parts.path)) from cut
    finally:
        connection.close()


def segment(value: str) -> str:
    """Return a value as one segment of a path."""
    if value in ("", ".", ".."):
        raise ValueError("%r cannot be an id in a path" % value)
    return urllib.parse.quote(value, safe="")


class Caller:
    """Calls one API. key is sent as the bearer token, and headers with each request."""

    def __init__(self, url: str, key: str = "", headers: t.Optional[t.Mapping[str, str]] = None) -> None:
        self.url, self.key, self.headers = url, key, dict(headers or {})

    def call(
        self,
        method: str,
        path: str,
        *,
        body: t.Any = None,
        query: t.Optional[t.Mapping[str, t.Any]] = None,
        headers: t.Optional[t.Mapping[str, t.Optional[str]]] = None,
    ) -> t.Any:
        """Make a request and return the decoded answer. Arguments that are None are not sent; a refusal raises Error."""
        given = [(name, value) for name, value in (query or {}).items() if value is not None]
        url = self.url + path + ("?" + urllib.parse.urlencode(given) if given else "")
        sent = {**self.headers, **{name: value for name, value in (headers or {}).items() if value is not None}}
        response = send(method, url, self.key, body, sent)
        if response.status >= 400:
            raise Error("%s %s" % (method, path), response)
        return response.json()
