-- The whole schema of a punchcard file, as a fresh one is created and as
-- migrations leave an older one (store/migrate.go keeps the two equal).
--
-- Keys are INTEGER; the opaque ids of the API are derived from them
-- (store/ids.go) and take no column. Times are INTEGER unix milliseconds.
-- Keys grow with created_at in every table, so a walk by key is a walk by
-- (created_at, key). A row whose id was handed out is never reused: tables
-- that really delete rows count with AUTOINCREMENT.

CREATE TABLE meta (
  id         INTEGER PRIMARY KEY CHECK (id = 1),
  id_secret  BLOB    NOT NULL,            -- AES-128 key behind ids, cursors and card codes
  auth_epoch INTEGER NOT NULL DEFAULT 1,  -- moves with whatever the gate caches: keys, shops, locations
  hook_epoch INTEGER NOT NULL DEFAULT 1   -- moves with whatever event matching caches: webhooks, shops
) STRICT;

CREATE TABLE shops (
  id                 INTEGER PRIMARY KEY,
  name               TEXT    NOT NULL,
  mode               TEXT    NOT NULL CHECK (mode IN ('live', 'test')),
  timezone           TEXT    NOT NULL,    -- IANA name
  subscription_state TEXT    NOT NULL CHECK (subscription_state IN ('active', 'past_due', 'suspended', 'cancelled')),
  api_addon          INTEGER NOT NULL,
  mcp_access         INTEGER NOT NULL,
  grant_expires_at   INTEGER,             -- API access without the add-on until then; null: no grant
  included_locations INTEGER NOT NULL,
  max_locations      INTEGER,
  max_cards          INTEGER,
  live_cards         INTEGER NOT NULL DEFAULT 0, -- roots with cards.live = 1
  created_at         INTEGER NOT NULL,
  updated_at         INTEGER NOT NULL
) STRICT;

CREATE TABLE keys (
  id                  INTEGER PRIMARY KEY,
  shop_id             INTEGER NOT NULL REFERENCES shops,
  class               TEXT    NOT NULL CHECK (class IN ('api', 'mcp')),
  name                TEXT    NOT NULL,
  prefix              TEXT    NOT NULL,   -- the first twelve characters, for people to recognise it by
  hash                BLOB    NOT NULL,   -- SHA-256 of the whole key
  scopes              TEXT    NOT NULL,   -- comma-separated
  restricted          INTEGER NOT NULL,   -- 1: only the locations in key_locations
  family_id           INTEGER,            -- first key of the rotation line; null: this one
  created_at          INTEGER NOT NULL,
  expires_at          INTEGER,
  retires_at          INTEGER,            -- end of the overlap after a rotation
  revoked_at          INTEGER,
  disabled_by_plan_at INTEGER
) STRICT;
CREATE UNIQUE INDEX keys_hash ON keys (hash);
CREATE INDEX keys_shop ON keys (shop_id);

CREATE TABLE key_locations (
  key_id      INTEGER NOT NULL REFERENCES keys,
  location_id INTEGER NOT NULL REFERENCES locations,
  PRIMARY KEY (key_id, location_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE locations (
  id                INTEGER PRIMARY KEY,
  shop_id           INTEGER NOT NULL REFERENCES shops,
  name              TEXT    NOT NULL,
  address           TEXT    NOT NULL,
  city              TEXT    NOT NULL,
  postal_code       TEXT    NOT NULL,
  country_code      TEXT    NOT NULL,
  lat               REAL    NOT NULL,
  lon               REAL    NOT NULL,
  require_staff_pin INTEGER NOT NULL,
  staff_pin         TEXT,                 -- argon2id in PHC form
  disabled_at       INTEGER,
  created_at        INTEGER NOT NULL,
  updated_at        INTEGER NOT NULL
) STRICT;
CREATE INDEX locations_shop ON locations (shop_id);

CREATE TABLE devices (
  id          INTEGER PRIMARY KEY,
  shop_id     INTEGER NOT NULL REFERENCES shops,
  location_id INTEGER NOT NULL REFERENCES locations,
  name        TEXT    NOT NULL,
  prefix      TEXT    NOT NULL,
  hash        BLOB    NOT NULL,           -- SHA-256 of the whole token
  created_at  INTEGER NOT NULL,
  revoked_at  INTEGER
) STRICT;
CREATE UNIQUE INDEX devices_hash ON devices (hash);
CREATE INDEX devices_shop ON devices (shop_id);

CREATE TABLE programs (
  id                        INTEGER PRIMARY KEY,
  shop_id                   INTEGER NOT NULL REFERENCES shops,
  type                      TEXT    NOT NULL CHECK (type IN ('standard', 'private', 'discount', 'access', 'prepaid')),
  name                      TEXT    NOT NULL,
  name_localizations        TEXT    NOT NULL, -- JSON object
  description               TEXT    NOT NULL,
  description_localizations TEXT    NOT NULL, -- JSON object
  category                  TEXT    NOT NULL,
  published_at              INTEGER,
  suspended_at              INTEGER,
  total_stamps              INTEGER,
  repeat_after_reset        INTEGER NOT NULL,
  stamps_expire_after_days  INTEGER,
  discount_percent          REAL,
  initial_balance_cents     INTEGER,
  min_spend_cents           INTEGER,      -- a stamp demands a purchase of at least this; set by operators
  default_expire_after_days INTEGER,
  logo_url                  TEXT,
  access_image_url          TEXT,
  brand_color_hex           TEXT    NOT NULL,
  bg_color_hex              TEXT    NOT NULL,
  text_color_hex            TEXT    NOT NULL,
  icon_key                  TEXT,
  visible_in_catalog        INTEGER NOT NULL,
  border_enabled            INTEGER NOT NULL,
  location_scope            TEXT    NOT NULL CHECK (location_scope IN ('all_locations', 'selected_locations')),
  has_installed_cards       INTEGER NOT NULL DEFAULT 0, -- sticky: nothing sets it back
  created_at                INTEGER NOT NULL,
  updated_at                INTEGER NOT NULL,
  deleted_at                INTEGER
) STRICT;
CREATE INDEX programs_shop ON programs (shop_id) WHERE deleted_at IS NULL;

CREATE TABLE program_locations (
  program_id  INTEGER NOT NULL REFERENCES programs,
  location_id INTEGER NOT NULL REFERENCES locations,
  position    INTEGER NOT NULL,           -- the order in which they were given
  PRIMARY KEY (program_id, location_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE prizes (
  id                        INTEGER PRIMARY KEY AUTOINCREMENT,
  program_id                INTEGER NOT NULL REFERENCES programs,
  threshold                 INTEGER NOT NULL,
  name                      TEXT    NOT NULL,
  name_localizations        TEXT    NOT NULL,
  description               TEXT    NOT NULL,
  description_localizations TEXT    NOT NULL,
  ordinal                   INTEGER NOT NULL,
  redemptions               INTEGER NOT NULL DEFAULT 0, -- ledger rows that redeemed it, reversed ones too
  created_at                INTEGER NOT NULL,
  updated_at                INTEGER NOT NULL
) STRICT;
CREATE INDEX prizes_program ON prizes (program_id, ordinal);

-- Lists filter by shop, program, external_ref or holder_email through an
-- index; status and every combination visit a bounded number of rows.
CREATE TABLE cards (
  id                 INTEGER PRIMARY KEY,
  shop_id            INTEGER NOT NULL REFERENCES shops,
  program_id         INTEGER NOT NULL REFERENCES programs,
  root_id            INTEGER REFERENCES cards, -- first card of the overflow chain; null: this one
  parent_id          INTEGER REFERENCES cards, -- the full card whose stamps overflowed into this one
  source             TEXT    NOT NULL CHECK (source IN ('api', 'counter', 'web_enrollment', 'overflow')),
  external_ref       TEXT,
  holder_name        TEXT,
  holder_email       TEXT,
  email_key          TEXT,                -- holder_email without case
  stamps_count       INTEGER NOT NULL DEFAULT 0,
  current_value      INTEGER,             -- cents; prepaid only
  initial_value      INTEGER,             -- what current_value began with
  cycle              INTEGER NOT NULL DEFAULT 0, -- counts up when stamps start from nothing again
  expires_at         INTEGER,
  activated_at       INTEGER,             -- null: invited
  installed_at       INTEGER,
  platform           TEXT CHECK (platform IN ('apple', 'google')),
  locked_at          INTEGER,
  archived_at        INTEGER,
  deleted_at         INTEGER,             -- erased: holder fields are null, reads are 404
  code_generation    INTEGER NOT NULL DEFAULT 0, -- on roots; a reissue moves it and so ends the old QR code
  expiry_noted       INTEGER,             -- on roots: the expires_at for which the ledger has an expiry row
  first_location_id  INTEGER REFERENCES locations, -- of the counter issue or first presentation
  install_hash       BLOB,                -- SHA-256 of the current install token
  install_expires_at INTEGER,
  live               INTEGER NOT NULL,    -- 1 on the root of a chain that shops.live_cards counts
  created_at         INTEGER NOT NULL,
  updated_at         INTEGER NOT NULL
) STRICT;
CREATE INDEX cards_shop    ON cards (shop_id) WHERE deleted_at IS NULL;
CREATE INDEX cards_program ON cards (program_id) WHERE deleted_at IS NULL;
CREATE INDEX cards_ref     ON cards (shop_id, external_ref) WHERE external_ref IS NOT NULL;
CREATE INDEX cards_email   ON cards (shop_id, email_key) WHERE email_key IS NOT NULL;
CREATE INDEX cards_chain   ON cards (root_id) WHERE root_id IS NOT NULL;
CREATE INDEX cards_due     ON cards (shop_id, expires_at) WHERE live = 1 AND expires_at IS NOT NULL;

-- The ledger. Append-only: a reversal is a row of its own, and only
-- reversed_at of an older row is ever written.
CREATE TABLE transactions (
  id           INTEGER PRIMARY KEY,
  shop_id      INTEGER NOT NULL REFERENCES shops,
  card_id      INTEGER NOT NULL REFERENCES cards,
  program_id   INTEGER NOT NULL REFERENCES programs,
  location_id  INTEGER NOT NULL REFERENCES locations,
  device_id    INTEGER REFERENCES devices,
  type         TEXT    NOT NULL CHECK (type IN ('stamp', 'redemption', 'reversal', 'expiry', 'topup', 'spend', 'discount', 'access')),
  stamps_delta INTEGER,
  value_delta  INTEGER,
  prize_id     INTEGER REFERENCES prizes,
  cycle        INTEGER NOT NULL DEFAULT 0, -- the card's when it was written
  reverses_id  INTEGER REFERENCES transactions,
  overflow_of  INTEGER REFERENCES transactions, -- the row of the full card whose stamps went over into this one
  metadata     TEXT,                      -- JSON object from the device, at most 4 KiB
  reversed_at  INTEGER,
  expired_at   INTEGER,                   -- of a stamp row whose stamps grew too old
  created_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX transactions_shop     ON transactions (shop_id);
CREATE INDEX transactions_time     ON transactions (shop_id, created_at); -- finds the keys that from and to stand for
CREATE INDEX transactions_card     ON transactions (card_id);
CREATE INDEX transactions_program  ON transactions (program_id);
CREATE INDEX transactions_location ON transactions (location_id);
CREATE INDEX transactions_prize    ON transactions (prize_id) WHERE prize_id IS NOT NULL; -- deleting a prize asks for its rows

CREATE INDEX transactions_reverses ON transactions (reverses_id) WHERE reverses_id IS NOT NULL;
CREATE INDEX transactions_overflow ON transactions (overflow_of) WHERE overflow_of IS NOT NULL;

-- Which option of a threshold was taken in a cycle; a reversed redemption
-- takes its row away.
CREATE TABLE claims (
  card_id        INTEGER NOT NULL REFERENCES cards,
  cycle          INTEGER NOT NULL,
  threshold      INTEGER NOT NULL,
  prize_id       INTEGER NOT NULL REFERENCES prizes,
  transaction_id INTEGER NOT NULL REFERENCES transactions,
  PRIMARY KEY (card_id, cycle, threshold)
) STRICT, WITHOUT ROWID;
CREATE INDEX claims_transaction ON claims (transaction_id);
CREATE INDEX claims_prize ON claims (prize_id); -- deleting a prize asks for its rows

-- The cycles that were completed: the highest prize on a full card.
CREATE TABLE cycles (
  card_id      INTEGER NOT NULL REFERENCES cards,
  cycle        INTEGER NOT NULL,
  completed_at INTEGER NOT NULL,
  PRIMARY KEY (card_id, cycle)
) STRICT, WITHOUT ROWID;

-- Remembered responses. Rows leave in key order, oldest first.
CREATE TABLE idempotency (
  id          INTEGER PRIMARY KEY,
  caller      INTEGER NOT NULL,           -- 2 × key family, or 2 × device + 1
  key_hash    BLOB    NOT NULL,           -- SHA-256 of the Idempotency-Key, 16 bytes of it
  fingerprint BLOB    NOT NULL,           -- SHA-256 of method, path and body
  status      INTEGER NOT NULL,
  body        BLOB    NOT NULL,           -- without what is drawn again (the QR picture) or new (the request id)
  card_id     INTEGER,                    -- whose data the body holds, so that an erase finds it
  created_at  INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX idempotency_key ON idempotency (caller, key_hash);
CREATE INDEX idempotency_card ON idempotency (card_id) WHERE card_id IS NOT NULL;

-- One row for every write, in the write's own transaction; the newest row's
-- created_at is the newest instant in the file.
CREATE TABLE audit (
  id          INTEGER PRIMARY KEY,
  shop_id     INTEGER,
  actor_type  TEXT    NOT NULL CHECK (actor_type IN ('api_key', 'device', 'user', 'holder', 'system')),
  actor_id    INTEGER,
  actor_name  TEXT,                       -- of a user at the command line: the system's account name
  action      TEXT    NOT NULL,
  target_kind INTEGER NOT NULL,           -- store.Kind
  target_id   INTEGER NOT NULL,
  detail      TEXT,                       -- JSON object; never holds personal data or secrets
  created_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX audit_shop ON audit (shop_id);

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
  updated_at               INTEGER NOT NULL
) STRICT;
CREATE INDEX webhooks_shop ON webhooks (shop_id);
CREATE INDEX webhooks_program ON webhooks (program_id);

-- An event is kept once, however many webhooks it goes to; its event_id is
-- the delivery's and is put in when sending.
CREATE TABLE events (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  shop_id     INTEGER NOT NULL REFERENCES shops,
  name        TEXT    NOT NULL,
  card_id     INTEGER,                    -- whose data the payload holds, so that an erase finds it
  payload_v1  BLOB,                       -- null: no webhook of that version matched
  payload_v2  BLOB,
  occurred_at INTEGER NOT NULL
) STRICT;
CREATE INDEX events_card ON events (card_id) WHERE card_id IS NOT NULL;

CREATE TABLE deliveries (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  event_id        INTEGER NOT NULL REFERENCES events,
  webhook_id      INTEGER NOT NULL REFERENCES webhooks,
  state           TEXT    NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
  due_at          INTEGER NOT NULL,
  attempts        INTEGER NOT NULL DEFAULT 0,
  response_status INTEGER,
  last_error      TEXT,
  duration_ms     INTEGER NOT NULL DEFAULT 0,
  request_headers TEXT    NOT NULL DEFAULT '{}',
  delivered_at    INTEGER,
  created_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX deliveries_event ON deliveries (event_id);
CREATE INDEX deliveries_webhook ON deliveries (webhook_id);
CREATE INDEX deliveries_pending ON deliveries (webhook_id, due_at) WHERE state = 'pending';
