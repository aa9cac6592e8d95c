-- A fresh delivery takes a third less room.
DROP INDEX deliveries_due;
DROP INDEX deliveries_special;
ALTER TABLE deliveries RENAME TO deliveries_before;
CREATE TABLE deliveries (
  webhook_id      INTEGER NOT NULL,
  event_id        INTEGER NOT NULL,
  outcome         TEXT    CHECK (outcome = 'delivered' OR outcome = 'failed'), -- null: pending. What a fresh row needs not say it does not, to be small
  special         INTEGER NOT NULL DEFAULT 0, -- 1: goes out though the shop is suspended; 2: a test, once, also where the webhook is inactive
  due_at          INTEGER,                    -- of the next attempt; null: the first one, at once
  attempts        INTEGER NOT NULL DEFAULT 0,
  response_status INTEGER,
  last_error      TEXT,
  duration_ms     INTEGER NOT NULL DEFAULT 0, -- of the latest attempt
  request_headers TEXT,                       -- of the latest attempt: JSON object, secrets masked
  delivered_at    INTEGER,
  PRIMARY KEY (webhook_id, event_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_due ON deliveries (webhook_id, due_at) WHERE outcome IS NULL AND due_at IS NOT NULL;
CREATE INDEX deliveries_special ON deliveries (webhook_id, due_at) WHERE outcome IS NULL AND special > 0;
INSERT INTO deliveries (webhook_id, event_id, outcome, special, due_at, attempts, response_status, last_error, duration_ms, request_headers, delivered_at)
  SELECT webhook_id, event_id, nullif(state, 'pending'), special, due_at, attempts, response_status, last_error, duration_ms, nullif(request_headers, '{}'), delivered_at
  FROM deliveries_before ORDER BY webhook_id, event_id;
DROP TABLE deliveries_before;
