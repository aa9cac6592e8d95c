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
  payload_version          TEXT    NOT NULL CHECK (payload_version = 'v1' OR payload_version = 'v2'),
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
  state           TEXT    NOT NULL DEFAULT 'pending' CHECK (state = 'pending' OR state = 'delivered' OR state = 'failed'),
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

-- SQLite builds a table in memory for every CHECK (x IN (…)) of every row it
-- writes. The same rules as comparisons change no content, so the text of the
-- schema is all there is to change.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(sql,
  'CHECK (mode IN (''live'', ''test''))', 'CHECK (mode = ''live'' OR mode = ''test'')'),
  'CHECK (subscription_state IN (''active'', ''past_due'', ''suspended'', ''cancelled''))', 'CHECK (subscription_state = ''active'' OR subscription_state = ''past_due'' OR subscription_state = ''suspended'' OR subscription_state = ''cancelled'')'),
  'CHECK (class IN (''api'', ''mcp''))', 'CHECK (class = ''api'' OR class = ''mcp'')'),
  'CHECK (type IN (''standard'', ''private'', ''discount'', ''access'', ''prepaid''))', 'CHECK (type = ''standard'' OR type = ''private'' OR type = ''discount'' OR type = ''access'' OR type = ''prepaid'')'),
  'CHECK (location_scope IN (''all_locations'', ''selected_locations''))', 'CHECK (location_scope = ''all_locations'' OR location_scope = ''selected_locations'')'),
  'CHECK (source IN (''api'', ''counter'', ''web_enrollment'', ''overflow''))', 'CHECK (source = ''api'' OR source = ''counter'' OR source = ''web_enrollment'' OR source = ''overflow'')'),
  'CHECK (platform IN (''apple'', ''google''))', 'CHECK (platform = ''apple'' OR platform = ''google'')'),
  'CHECK (type IN (''stamp'', ''redemption'', ''reversal'', ''expiry'', ''topup'', ''spend'', ''discount'', ''access''))', 'CHECK (type = ''stamp'' OR type = ''redemption'' OR type = ''reversal'' OR type = ''expiry'' OR type = ''topup'' OR type = ''spend'' OR type = ''discount'' OR type = ''access'')'),
  'CHECK (actor_type IN (''api_key'', ''device'', ''user'', ''holder'', ''system''))', 'CHECK (actor_type = ''api_key'' OR actor_type = ''device'' OR actor_type = ''user'' OR actor_type = ''holder'' OR actor_type = ''system'')'),
  'CHECK (payload_version IN (''v1'', ''v2''))', 'CHECK (payload_version = ''v1'' OR payload_version = ''v2'')'),
  'CHECK (state IN (''pending'', ''delivered'', ''failed''))', 'CHECK (state = ''pending'' OR state = ''delivered'' OR state = ''failed'')')
WHERE type = 'table' AND sql LIKE '%CHECK (% IN (%';
PRAGMA writable_schema = RESET;
