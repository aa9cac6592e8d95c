-- Webhooks that are deleted in two steps, and deliveries that go out in spite
-- of a suspension or a switched-off webhook. No file of version 1 has a row in
-- either table: nothing could make one.
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
  deleted_at               INTEGER            -- gone for every caller; the sweep takes its log and then the row
) STRICT;
CREATE INDEX webhooks_shop ON webhooks (shop_id) WHERE deleted_at IS NULL;
CREATE INDEX webhooks_program ON webhooks (program_id) WHERE deleted_at IS NULL;
CREATE INDEX webhooks_deleted ON webhooks (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE TABLE deliveries (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  event_id        INTEGER NOT NULL REFERENCES events,
  webhook_id      INTEGER NOT NULL REFERENCES webhooks,
  state           TEXT    NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
  special         INTEGER NOT NULL DEFAULT 0, -- 1: goes out though the shop is suspended; 2: a test, once, also where the webhook is inactive
  due_at          INTEGER NOT NULL,           -- of the next attempt
  attempts        INTEGER NOT NULL DEFAULT 0,
  response_status INTEGER,
  last_error      TEXT,
  duration_ms     INTEGER NOT NULL DEFAULT 0, -- of the latest attempt
  request_headers TEXT    NOT NULL DEFAULT '{}', -- JSON object, secrets masked
  delivered_at    INTEGER,
  created_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX deliveries_event ON deliveries (event_id);
CREATE INDEX deliveries_webhook ON deliveries (webhook_id);
CREATE INDEX deliveries_pending ON deliveries (webhook_id, due_at) WHERE state = 'pending';
CREATE INDEX deliveries_special ON deliveries (webhook_id, due_at) WHERE state = 'pending' AND special > 0;
