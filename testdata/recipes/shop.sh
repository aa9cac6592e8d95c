#!/bin/sh
# A test in plain shell: needs a POSIX shell, curl, sed and grep.
#   PUNCHCARD=./punchcard testdata/recipes/shop.sh
set -eu
dir=$(mktemp -d)
mkfifo "$dir/ready"
"${PUNCHCARD:-./punchcard}" dev --listen 127.0.0.1:0 2>"$dir/log" >"$dir/ready" &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -rf "$dir"' EXIT
read -r ready <"$dir/ready" || { cat "$dir/log"; exit 1; } # blocks until the server is ready; no port is guessed

field() { printf '%s' "$ready" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
origin=$(field origin) base=$(field base_url) key=$(field api_key) till=$(field till_token) program=$(field standard)
fail() { printf 'not ok: %s\n' "$1"; curl -sS "$origin/dev/requests"; exit 1; }
api() { method=$1 path=$2; shift 2; curl -sS -X "$method" -H "Authorization: Bearer $key" -H 'Content-Type: application/json' "$base$path" "$@"; }
dev() { method=$1 path=$2; shift 2; curl -fsS -X "$method" -H 'Content-Type: application/json' "$origin/dev$path" "$@"; }
id() { sed -n 's/^{"id":"\([^"]*\)".*/\1/p'; }

# A card is issued, stamped, and the receiver that dev has built in hears of it.
receiver=$(dev POST /receiver)
rid=$(printf '%s' "$receiver" | id)
url=$(printf '%s' "$receiver" | sed -n 's/.*"url":"\([^"]*\)".*/\1/p')
api POST "/programs/$program/webhooks" -d "{\"url\": \"$url\", \"events\": [\"stamp.assigned\"]}" >/dev/null
card=$(api POST "/programs/$program/cards" -d '{"holder_name": "Ada"}' | id)
curl -fsS -o /dev/null -H "Authorization: Bearer $till" -H 'Content-Type: application/json' -d '{"count": 3}' "$origin/till/v1/cards/$card/stamps"
dev GET "/receiver/$rid?wait=1&event=stamp.assigned" | grep -q '\\"stamps_count\\":3' || fail "the stamps did not arrive"
printf 'ok: a stamp arrives\n'

# Everything is as at the start.
dev POST /reset >/dev/null
[ "$(api GET "/cards/$card" -o /dev/null -w '%{http_code}')" = 404 ] || fail "the card outlived the reset"
printf 'ok: a reset forgets it\n'

# The answer to a POST is lost; the retry with the same key gets it.
dev POST /faults -d '{"method": "POST", "path": "/programs/*/cards", "status": 503, "when": "after"}' >/dev/null
lost=$(api POST "/programs/$program/cards" -H 'Idempotency-Key: order-1' -d '{"external_ref": "M-1"}' -o /dev/null -w '%{http_code}')
[ "$lost" = 503 ] || fail "the fault was not applied: $lost"
api POST "/programs/$program/cards" -H 'Idempotency-Key: order-1' -d '{"external_ref": "M-1"}' -D "$dir/headers" >/dev/null
grep -qi '^Idempotent-Replayed: true' "$dir/headers" || fail "the retry issued a second card"
printf 'ok: a retry is safe\n'
