# A receiver of webhooks: WEBHOOK_SECRET=whsec_… python3 verify.py
import hashlib, hmac, json, os, re, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def genuine(secret, header, body):
    """Whether the header was made with the secret for these bytes, and not
    more than five minutes ago."""
    match = re.fullmatch(r"t=([0-9]{1,15}),v1=([0-9a-f]{64})", header or "")
    if not match or abs(time.time() - int(match[1])) > 300:
        return False
    own = hmac.new(secret.encode(), match[1].encode() + b"." + body, hashlib.sha256)
    return hmac.compare_digest(own.hexdigest(), match[2])  # in constant time


# The highest X-Service-Sequence of each card so far. Keep it with your copy of the card,
# and change both in one transaction.
newest = {}
lock = threading.Lock()


def late(card, sequence):
    """Whether a newer event of the card came before, so that this one, a retry, must
    not change what is known of the card. It remembers the sequence otherwise."""
    with lock:
        if card and sequence < newest.get(card, 0):
            return True
        newest[card] = sequence
        return False


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))  # the bytes as they came: parse them later
        good = genuine(os.environ["WEBHOOK_SECRET"], self.headers["X-Service-Signature"], body)
        if good:
            event = json.loads(body)
            print(event["event"], event["event_id"], flush=True)  # seen this event_id before? then it is a repeat
            if late(event["data"].get("card_instance_id"), int(self.headers["X-Service-Sequence"] or 0)):
                print("late", event["event_id"], flush=True)
        self.send_response(204 if good else 400)
        self.end_headers()

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 9000))), Receiver)
print(f"listening on 127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
