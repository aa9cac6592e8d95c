-- Webhooks that are deleted in two steps, and deliveries that are cheap to
-- queue. No file of version 1 has a row in either table: nothing could make one.
DROP TABLE deliveries;
DROP TABLE webhooks;
CREATE TABLE webhooks (
  id                       INTEGER PRIMARY KEY AUTOINCREMENT,
  shop_id                  INTEGER NOT NULL REFERENCES shops,
  program_id               INTEGER NOT NULL REFERENCES programs, -- its address; filters nothing
  url                      TEXT    NOT NULL,
  events                   TEXT    NOT NULL, -- JSON array of patterns
  program_ids              TEXT    NOT NULL, -- JSON array of keys; empty: all
  location_ids             TEXT    NOT NULL, -- JSON array of keys; empty: all
  include_shop_wide_events INTEGER NOT NULL,
  active                   INTEGER NOT NULL,
  description              TEXT    NOT NULL,
  bearer_token             TEXT,
  secret                   TEXT    NOT NULL,
  http_method              TEXT    NOT NULL,
  custom_headers           TEXT    NOT NULL, -- JSON object
  payload_version          TEXT    NOT NULL CHECK (payload_version IN ('v1', 'v2')),
  consecutive_failures     INTEGER NOT NULL DEFAULT 0,
  created_at               INTEGER NOT NULL,
  updated_at               INTEGER NOT NULL,
  sent_through             INTEGER NOT NULL DEFAULT 0, -- no event up to this one waits for its first attempt
  deleted_at               INTEGER            -- gone for every caller; the sweep takes its log and then the row
) STRICT;
CREATE INDEX webhooks_shop ON webhooks (shop_id);
CREATE INDEX webhooks_program ON webhooks (program_id) WHERE deleted_at IS NULL;
CREATE INDEX webhooks_deleted ON webhooks (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE TABLE deliveries (
  webhook_id      INTEGER NOT NULL,
  event_id        INTEGER NOT NULL,
  state           TEXT    NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'failed')),
  special         INTEGER NOT NULL DEFAULT 0, -- 1: goes out though the shop is suspended; 2: a test, once, also where the webhook is inactive
  due_at          INTEGER,                    -- of the next attempt; null: the first one, at once
  attempts        INTEGER NOT NULL DEFAULT 0,
  response_status INTEGER,
  last_error      TEXT,
  duration_ms     INTEGER NOT NULL DEFAULT 0, -- of the latest attempt
  request_headers TEXT    NOT NULL DEFAULT '{}', -- JSON object, secrets masked
  delivered_at    INTEGER,
  PRIMARY KEY (webhook_id, event_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_due ON deliveries (webhook_id, due_at) WHERE state = 'pending' AND due_at IS NOT NULL;
CREATE INDEX deliveries_special ON deliveries (webhook_id, due_at) WHERE state = 'pending' AND special > 0;
