-- The whole schema of a punchcard file. A new file is created from it, and
-- migrations bring an older one to the same schema (store/migrate.go).
--
-- Keys are INTEGER. The opaque ids of the API are computed from them
-- (store/ids.go) and have no column. Times are INTEGER unix milliseconds.
-- Keys grow with created_at in every table, so the order by key is the order by
-- (created_at, key). A key is never reused: tables whose rows are deleted use
-- AUTOINCREMENT. In a restored file the other tables have a row in
-- sqlite_sequence too, and their new keys are greater than its seq
-- (store/ids_restored.go).

CREATE TABLE meta (
  id         INTEGER PRIMARY KEY CHECK (id = 1),
  id_secret  BLOB    NOT NULL,            -- AES-128 key behind ids, cursors and card codes
  auth_epoch INTEGER NOT NULL DEFAULT 1,  -- raised by each change of what the server caches of keys, devices, sessions, shops, locations and programs
  hook_epoch INTEGER NOT NULL DEFAULT 1,  -- raised by each change of what event matching caches: webhooks, shops
  id_check   BLOB,                        -- recognises id_secret; see secretCheck
  public_url TEXT,                        -- that "init" was given; null: none
  indexed_cards INTEGER NOT NULL DEFAULT 0, -- name_words has the words of all cards up to this key
  wipe_page  INTEGER NOT NULL DEFAULT 0   -- from this page on there may be remains of erased rows; 0: nowhere
) STRICT;

CREATE TABLE shops (
  id                 INTEGER PRIMARY KEY,
  name               TEXT    NOT NULL,
  mode               TEXT    NOT NULL CHECK (mode = 'live' OR mode = 'test'),
  timezone           TEXT    NOT NULL,    -- IANA name
  subscription_state TEXT    NOT NULL CHECK (subscription_state = 'active' OR subscription_state = 'past_due' OR subscription_state = 'suspended' OR subscription_state = 'cancelled'),
  api_addon          INTEGER NOT NULL,
  mcp_access         INTEGER NOT NULL,
  grant_expires_at   INTEGER,             -- API access without the add-on until then; null: no grant
  included_locations INTEGER NOT NULL,
  max_locations      INTEGER,
  max_cards          INTEGER,
  live_cards         INTEGER NOT NULL DEFAULT 0, -- roots with cards.live = 1
  created_at         INTEGER NOT NULL,
  updated_at         INTEGER NOT NULL,
  event_sequence     INTEGER NOT NULL DEFAULT 0, -- of its last event
  currency           TEXT    NOT NULL DEFAULT 'EUR', -- ISO 4217
  language           TEXT    NOT NULL DEFAULT 'en',
  require_totp       INTEGER NOT NULL DEFAULT 0, -- 1: owners and managers need a second factor
  country_code       TEXT,                -- ISO 3166-1 alpha-2, by which phone numbers are read; null: not known
  closed             TEXT CHECK (closed = 'moving' OR closed = 'moved' OR closed = 'deleted'), -- null: it is open; see Closing
  closed_at          INTEGER,             -- since when; of a shop that was moved into this file, when its move began
  moved_to           TEXT,                -- public URL of the server that it moves to
  forget_after_months INTEGER,            -- cards that were not seen for longer are erased; null: none
  forget_since       INTEGER,             -- when that was switched on or made shorter; nothing is erased in the month after it
  public_url         TEXT                 -- what links of its cards and tills begin with; null: that of the server
) STRICT;
CREATE UNIQUE INDEX shops_public_url ON shops (public_url);

CREATE TABLE keys (
  id                  INTEGER PRIMARY KEY,
  shop_id             INTEGER NOT NULL REFERENCES shops,
  class               TEXT    NOT NULL CHECK (class = 'api' OR class = 'mcp'),
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
  disabled_by_plan_at INTEGER,
  last_used_at        INTEGER             -- of the last request, written once a minute
) STRICT;
CREATE UNIQUE INDEX keys_hash ON keys (hash);
CREATE INDEX keys_shop ON keys (shop_id);

CREATE TABLE key_locations (
  key_id      INTEGER NOT NULL REFERENCES keys,
  location_id INTEGER NOT NULL REFERENCES locations,
  PRIMARY KEY (key_id, location_id)
) STRICT, WITHOUT ROWID;

-- The counted calls of MCP keys on each day in UTC.
CREATE TABLE key_calls (
  key_id INTEGER NOT NULL REFERENCES keys,
  day    INTEGER NOT NULL,                -- since 1970
  calls  INTEGER NOT NULL,
  PRIMARY KEY (key_id, day)
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
  updated_at        INTEGER NOT NULL,
  require_staff     INTEGER NOT NULL DEFAULT 0 -- 1: tills demand a signed-in member of staff
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
  revoked_at  INTEGER,
  accepts_card_ids INTEGER NOT NULL DEFAULT 0, -- 1: its writes may name a card by its id
  last_used_at     INTEGER                -- of the last request, written once a minute
) STRICT;
CREATE UNIQUE INDEX devices_hash ON devices (hash);
CREATE INDEX devices_shop ON devices (shop_id);

-- The people who work at the tills of a location.
CREATE TABLE staff (
  id          INTEGER PRIMARY KEY,
  shop_id     INTEGER NOT NULL REFERENCES shops,
  name        TEXT    NOT NULL,
  pin         TEXT    NOT NULL,           -- argon2id in PHC form
  disabled_at INTEGER,
  created_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX staff_shop ON staff (shop_id, name);

-- Where staff work. A member of staff without a row here works at all locations of the shop.
CREATE TABLE staff_locations (
  staff_id    INTEGER NOT NULL REFERENCES staff,
  location_id INTEGER NOT NULL REFERENCES locations,
  PRIMARY KEY (staff_id, location_id)
) STRICT, WITHOUT ROWID;

-- The one-time tokens by which a phone or tablet becomes a device. One that is used is
-- deleted.
CREATE TABLE pairings (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  shop_id     INTEGER NOT NULL REFERENCES shops,
  location_id INTEGER NOT NULL REFERENCES locations,
  name        TEXT    NOT NULL,           -- of the device
  accepts_card_ids INTEGER NOT NULL,
  hash        BLOB    NOT NULL,           -- SHA-256 of the token in the link
  code_hash   BLOB    NOT NULL,           -- keyed hash of the code that people type
  created_at  INTEGER NOT NULL,
  expires_at  INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX pairings_hash ON pairings (hash);
CREATE UNIQUE INDEX pairings_code ON pairings (code_hash);
CREATE INDEX pairings_expire ON pairings (expires_at);

CREATE TABLE programs (
  id                        INTEGER PRIMARY KEY,
  shop_id                   INTEGER NOT NULL REFERENCES shops,
  type                      TEXT    NOT NULL CHECK (type = 'standard' OR type = 'private' OR type = 'discount' OR type = 'access' OR type = 'prepaid'),
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
  location_scope            TEXT    NOT NULL CHECK (location_scope = 'all_locations' OR location_scope = 'selected_locations'),
  has_installed_cards       INTEGER NOT NULL DEFAULT 0, -- sticky: nothing sets it back
  created_at                INTEGER NOT NULL,
  updated_at                INTEGER NOT NULL,
  deleted_at                INTEGER,
  max_stamps_per_day        INTEGER,      -- that a chain may be given on a day of the shop's calendar; set by operators
  logo_hash                 TEXT,         -- of logos; null: none was uploaded
  welcome_stamps            INTEGER NOT NULL DEFAULT 0, -- opening_stamps of new cards, imported ones left out; set by operators
  queue_after               INTEGER       -- the program has changed: passes of cards after this key are to be queued in pushes; null: none
) STRICT;
CREATE INDEX programs_shop ON programs (shop_id);
CREATE INDEX programs_queue ON programs (queue_after) WHERE queue_after IS NOT NULL;
CREATE INDEX programs_logo ON programs (logo_hash) WHERE logo_hash IS NOT NULL;

-- How the customers of a shop make cards of a program themselves, by the form at
-- /join/slug. A program without a row never let them.
CREATE TABLE enrolments (
  program_id  INTEGER PRIMARY KEY REFERENCES programs,
  enabled     INTEGER NOT NULL,
  slug        TEXT    NOT NULL,           -- the end of the form's address, unique in the file
  name_field  TEXT    NOT NULL CHECK (name_field = 'required' OR name_field = 'optional' OR name_field = 'off'),
  email_field TEXT    NOT NULL CHECK (email_field = 'required' OR email_field = 'optional' OR email_field = 'off'),
  consent     INTEGER NOT NULL,           -- the version of consents that the form shows; 0: none
  max_cards   INTEGER NOT NULL,           -- that the form may ever make
  cards       INTEGER NOT NULL DEFAULT 0, -- that it has made
  hour        INTEGER NOT NULL DEFAULT 0, -- since 1970, of hour_cards
  hour_cards  INTEGER NOT NULL DEFAULT 0, -- that it has made in that hour
  phone_field TEXT    NOT NULL DEFAULT 'off' CHECK (phone_field = 'required' OR phone_field = 'optional' OR phone_field = 'off')
) STRICT;
CREATE UNIQUE INDEX enrolments_slug ON enrolments (slug);

-- What the form of a program asks its holders to agree to. A change is a new version, so
-- that it is known to what the holder of a card agreed.
CREATE TABLE consents (
  program_id  INTEGER NOT NULL REFERENCES programs,
  version     INTEGER NOT NULL,
  text        TEXT,                       -- null: there is only the link
  privacy_url TEXT,                       -- of the privacy notice
  created_at  INTEGER NOT NULL,
  PRIMARY KEY (program_id, version)
) STRICT, WITHOUT ROWID;

-- Uploaded logos, as PNG of at most 512 pixels in each direction. Programs with the same
-- logo share a row.
CREATE TABLE logos (
  hash         TEXT PRIMARY KEY,          -- SHA-256 of bytes, 16 bytes of it in hexadecimal
  content_type TEXT NOT NULL,
  bytes        BLOB NOT NULL
) STRICT;

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
-- index. Filters by status and by several fields read a bounded number of rows.
CREATE TABLE cards (
  id                 INTEGER PRIMARY KEY,
  shop_id            INTEGER NOT NULL REFERENCES shops,
  program_id         INTEGER NOT NULL REFERENCES programs,
  root_id            INTEGER REFERENCES cards, -- first card of the overflow chain; null: this one
  parent_id          INTEGER REFERENCES cards, -- the full card whose stamps overflowed into this one
  source             TEXT    NOT NULL CHECK (source = 'api' OR source = 'counter' OR source = 'web_enrollment' OR source = 'overflow' OR source = 'import'),
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
  platform           TEXT CHECK (platform = 'apple' OR platform = 'google'),
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
  updated_at         INTEGER NOT NULL,
  last_stamp_at      INTEGER,             -- of its unreversed stamp rows; null: it has none
  lapsed             INTEGER NOT NULL DEFAULT 0, -- 1: known to have expired, and no longer in program_counts.active
  short_code         TEXT,                -- on roots: the code that people type, made when it is first needed; a reissue ends it
  client_reference   TEXT,                -- of its issue at a till, see transactions; or "join " and the key of the form that made it
  consent_version    INTEGER,             -- of consents: what its holder was shown when the form at /join made it; null: nothing
  consent_at         INTEGER,
  last_seen_day      INTEGER NOT NULL DEFAULT 0, -- on roots: day of the shop's calendar on which a card of the chain was last presented; 0: never
  opening_stamps     INTEGER NOT NULL DEFAULT 0, -- stamps that it began with, which no row of the ledger gave
  opening_left       INTEGER NOT NULL DEFAULT 0, -- those of them that neither expired nor were taken by an adjustment; of use in cycle 0
  import_id          INTEGER REFERENCES imports, -- on roots: the import that wrote it; null: none
  copies             INTEGER NOT NULL DEFAULT 0 -- on roots: where the card is shown too, as bits; see CopyBrowser
) STRICT;
CREATE INDEX cards_shop    ON cards (shop_id) WHERE deleted_at IS NULL;
CREATE INDEX cards_program ON cards (program_id) WHERE deleted_at IS NULL;
CREATE INDEX cards_ref     ON cards (shop_id, external_ref) WHERE external_ref IS NOT NULL;
CREATE INDEX cards_email   ON cards (shop_id, email_key) WHERE email_key IS NOT NULL;
CREATE INDEX cards_chain   ON cards (root_id) WHERE root_id IS NOT NULL;
CREATE INDEX cards_due     ON cards (shop_id, expires_at) WHERE live = 1 AND expires_at IS NOT NULL;
CREATE INDEX cards_seen    ON cards (program_id, last_seen_day) WHERE live = 1;
CREATE INDEX cards_balance ON cards (program_id, current_value) WHERE current_value IS NOT NULL AND archived_at IS NULL; -- in the list of cards
CREATE INDEX cards_erased  ON cards (program_id) WHERE deleted_at IS NOT NULL;
CREATE UNIQUE INDEX cards_short_code ON cards (shop_id, short_code) WHERE short_code IS NOT NULL;
CREATE UNIQUE INDEX cards_reference ON cards (shop_id, client_reference) WHERE client_reference IS NOT NULL;
CREATE INDEX cards_import ON cards (import_id) WHERE import_id IS NOT NULL;
CREATE INDEX cards_passes ON cards (program_id) WHERE copies > 1; -- those with a copy that is no browser
CREATE INDEX cards_forget ON cards (shop_id, ifnull(current_value, 0) > 0, last_seen_day) WHERE root_id IS NULL AND deleted_at IS NULL AND (live = 0 OR current_value IS NOT NULL); -- cards_seen has the others

-- What a shop knows about the holder of a chain beside what the cards have. Erasing the chain
-- deletes its rows in this table and the next.
CREATE TABLE contacts (
  card_id      INTEGER PRIMARY KEY REFERENCES cards, -- the root
  shop_id      INTEGER NOT NULL REFERENCES shops,
  phone        TEXT,                      -- E.164
  phone_key    TEXT,                      -- its digits, the last one first, so that an index finds its end
  birthday     TEXT,                      -- MM-DD
  note         TEXT,
  member_since TEXT,                      -- date in another system, from an import
  correction   TEXT,                      -- what the holder asks the shop to correct; null: nothing
  correction_at INTEGER,
  erasure_at   INTEGER                    -- when the holder asked to be erased
) STRICT;
CREATE INDEX contacts_asked ON contacts (shop_id) WHERE correction_at IS NOT NULL OR erasure_at IS NOT NULL;
CREATE INDEX contacts_phone ON contacts (shop_id, phone_key) WHERE phone_key IS NOT NULL;
CREATE INDEX contacts_birthday ON contacts (shop_id, birthday) WHERE birthday IS NOT NULL;

-- The barcodes of earlier plastic cards, by which tills find a chain too. A reissue deletes those
-- of its chain.
CREATE TABLE foreign_codes (
  shop_id    INTEGER NOT NULL REFERENCES shops,
  barcode    TEXT    NOT NULL,
  card_id    INTEGER NOT NULL REFERENCES cards, -- the root
  short_form TEXT,                        -- as a short code would be stored that is typed so; null: it does not look like one
  PRIMARY KEY (shop_id, barcode)
) STRICT, WITHOUT ROWID;
CREATE INDEX foreign_codes_card  ON foreign_codes (card_id);
CREATE INDEX foreign_codes_short ON foreign_codes (shop_id, short_form) WHERE short_form IS NOT NULL;

-- The imports of cards from files of other systems (store/import.go).
CREATE TABLE imports (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  shop_id       INTEGER NOT NULL REFERENCES shops,
  program_id    INTEGER REFERENCES programs, -- null: the file was uploaded, and its mapping is not chosen yet
  file_name     TEXT,
  hash          BLOB    NOT NULL,         -- SHA-256 of the file; once it is mapped, of file, program and mapping
  columns       TEXT    NOT NULL,         -- JSON array of the names of the columns of the file
  options       TEXT,                     -- JSON object; null: the mapping is not chosen yet
  state         TEXT    NOT NULL CHECK (state = 'uploaded' OR state = 'running' OR state = 'done' OR state = 'undoing' OR state = 'undone'),
  rows          INTEGER NOT NULL,         -- of the file, those of other programs left out
  added         INTEGER NOT NULL DEFAULT 0, -- cards; see ImportRun for these sums
  updated       INTEGER NOT NULL DEFAULT 0,
  unchanged     INTEGER NOT NULL DEFAULT 0,
  skipped       INTEGER NOT NULL DEFAULT 0,
  removed       INTEGER NOT NULL DEFAULT 0,
  kept          INTEGER NOT NULL DEFAULT 0,
  other_program INTEGER NOT NULL DEFAULT 0,
  points_left   INTEGER NOT NULL DEFAULT 0,
  through       INTEGER NOT NULL DEFAULT 0, -- the last card that the undo, or else the invitations, have reached
  invite_at     INTEGER,                  -- when the next invitation may be mailed; null: there is none
  created_at    INTEGER NOT NULL,
  ended_at      INTEGER
) STRICT;
CREATE INDEX imports_shop ON imports (shop_id);
CREATE INDEX imports_state ON imports (state);
CREATE INDEX imports_invite ON imports (invite_at) WHERE invite_at IS NOT NULL;

-- The rows of imports that are still to be worked on. A write of an import deletes the part that it
-- has written.
CREATE TABLE import_parts (
  import_id INTEGER NOT NULL REFERENCES imports,
  part      INTEGER NOT NULL,
  rows      INTEGER NOT NULL,
  packed    BLOB    NOT NULL,             -- JSON, compressed
  PRIMARY KEY (import_id, part)
) STRICT, WITHOUT ROWID;

-- Why an import left out rows, and its undo cards, without values of the file.
CREATE TABLE import_notes (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  import_id INTEGER NOT NULL REFERENCES imports,
  line      INTEGER NOT NULL,             -- 0: about a card
  card_id   INTEGER REFERENCES cards,
  field     TEXT    NOT NULL,
  code      TEXT    NOT NULL,
  message   TEXT    NOT NULL
) STRICT;
CREATE INDEX import_notes_import ON import_notes (import_id);

-- Changes of many cards, which the server makes one after the other (store/card_run.go), and why it left cards as they
-- were.
CREATE TABLE card_runs (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  shop_id     INTEGER NOT NULL REFERENCES shops,
  user_id     INTEGER REFERENCES users, -- who began it; null: nobody with an account
  action      TEXT    NOT NULL,
  state       TEXT    NOT NULL CHECK (state = 'running' OR state = 'done' OR state = 'stopped'),
  fields      TEXT    NOT NULL,           -- JSON of RunFields without the cards
  roots       TEXT    NOT NULL,           -- JSON array of the chosen cards; empty: those that pass the filter
  position    INTEGER NOT NULL,           -- all chains with greater roots are done
  total       INTEGER NOT NULL,
  more        INTEGER NOT NULL,
  done        INTEGER NOT NULL DEFAULT 0,
  refused     INTEGER NOT NULL DEFAULT 0,
  created_at  INTEGER NOT NULL,
  finished_at INTEGER
) STRICT;
CREATE INDEX card_runs_shop ON card_runs (shop_id);
CREATE INDEX card_runs_running ON card_runs (state) WHERE state = 'running';
CREATE INDEX card_runs_finished ON card_runs (finished_at) WHERE finished_at IS NOT NULL;
CREATE TABLE card_run_refusals (
  run_id  INTEGER NOT NULL REFERENCES card_runs,
  card_id INTEGER NOT NULL REFERENCES cards,
  message TEXT    NOT NULL,
  PRIMARY KEY (run_id, card_id)
) STRICT, WITHOUT ROWID;

-- The words of holders' names, by which people find cards: without case, accents and
-- punctuation (store/name_words.go). Erasing a card deletes its rows.
CREATE TABLE name_words (
  part    INTEGER NOT NULL,               -- of the card's key; see namePart
  shop_id INTEGER NOT NULL,
  word    TEXT    NOT NULL,
  card_id INTEGER NOT NULL,
  PRIMARY KEY (part, shop_id, word, card_id)
) STRICT, WITHOUT ROWID;

-- The ledger. Rows are only added: a reversal is a row of its own. Of older rows
-- only reversed_at, expired_at, taken and, on erasure, metadata change.
CREATE TABLE transactions (
  id           INTEGER PRIMARY KEY,
  shop_id      INTEGER NOT NULL REFERENCES shops,
  card_id      INTEGER NOT NULL REFERENCES cards,
  program_id   INTEGER NOT NULL REFERENCES programs,
  location_id  INTEGER NOT NULL REFERENCES locations,
  device_id    INTEGER REFERENCES devices,
  type         TEXT    NOT NULL CHECK (type = 'stamp' OR type = 'redemption' OR type = 'reversal' OR type = 'expiry' OR type = 'topup' OR type = 'spend' OR type = 'discount' OR type = 'access' OR type = 'adjustment'),
  stamps_delta INTEGER,
  value_delta  INTEGER,
  prize_id     INTEGER REFERENCES prizes,
  cycle        INTEGER NOT NULL DEFAULT 0, -- the card's when it was written
  reverses_id  INTEGER REFERENCES transactions,
  overflow_of  INTEGER REFERENCES transactions, -- the row of the full card whose stamps went over into this one
  metadata     TEXT,                      -- JSON object from the device, at most 4 KiB
  reversed_at  INTEGER,
  expired_at   INTEGER,                   -- of a stamp row whose stamps grew too old
  created_at   INTEGER NOT NULL,
  staff_id     INTEGER REFERENCES staff,  -- who was signed in at the till; null: nobody
  occurred_at  INTEGER,                   -- of a stamp that a till sent later: when it was given. The sums by time count it then
  client_reference TEXT,                  -- UUID in lower case that the till gave the write; unique in the shop, also among cards
  taken        INTEGER NOT NULL DEFAULT 0 -- of stamps_delta, what later adjustments took back
) STRICT;
CREATE INDEX transactions_shop     ON transactions (shop_id);
CREATE INDEX transactions_time     ON transactions (shop_id, created_at); -- finds the keys that from and to stand for
CREATE INDEX transactions_card     ON transactions (card_id);
CREATE INDEX transactions_program  ON transactions (program_id);
CREATE INDEX transactions_location ON transactions (location_id);
CREATE INDEX transactions_prize    ON transactions (prize_id) WHERE prize_id IS NOT NULL; -- deleting a prize asks for its rows

CREATE INDEX transactions_reverses ON transactions (reverses_id) WHERE reverses_id IS NOT NULL;
CREATE INDEX transactions_overflow ON transactions (overflow_of) WHERE overflow_of IS NOT NULL;
CREATE UNIQUE INDEX transactions_reference ON transactions (shop_id, client_reference) WHERE client_reference IS NOT NULL;
CREATE INDEX transactions_money ON transactions (shop_id, location_id, value_delta) WHERE value_delta IS NOT NULL; -- adds up the money that came before a month
CREATE INDEX transactions_occurred ON transactions (shop_id, occurred_at) WHERE occurred_at IS NOT NULL;

-- The option of a threshold that was redeemed in a cycle. Reversing the
-- redemption deletes the row.
CREATE TABLE claims (
  card_id        INTEGER NOT NULL REFERENCES cards,
  cycle          INTEGER NOT NULL,
  threshold      INTEGER NOT NULL,
  prize_id       INTEGER NOT NULL REFERENCES prizes,
  transaction_id INTEGER REFERENCES transactions, -- null: the prize was redeemed before the card was imported
  PRIMARY KEY (card_id, cycle, threshold)
) STRICT, WITHOUT ROWID;
CREATE INDEX claims_transaction ON claims (transaction_id);
CREATE INDEX claims_prize ON claims (prize_id); -- deleting a prize asks for its rows

-- The completed cycles: those in which a full card's highest prize was redeemed.
CREATE TABLE cycles (
  card_id      INTEGER NOT NULL REFERENCES cards,
  cycle        INTEGER NOT NULL,
  completed_at INTEGER NOT NULL,
  PRIMARY KEY (card_id, cycle)
) STRICT, WITHOUT ROWID;

-- Remembered responses. Rows are deleted in the order of their keys.
CREATE TABLE idempotency (
  id          INTEGER PRIMARY KEY,
  caller      INTEGER NOT NULL,           -- 2 × key family, 2 × device + 1, or the negative key of a person
  key_hash    BLOB    NOT NULL,           -- SHA-256 of the Idempotency-Key, 16 bytes of it
  fingerprint BLOB    NOT NULL,           -- SHA-256 of method, path and body
  status      INTEGER NOT NULL,
  body        BLOB    NOT NULL,           -- without what is drawn again (the QR picture) or new (the request id)
  card_id     INTEGER,                    -- whose data the body holds, so that an erase finds it
  created_at  INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX idempotency_key ON idempotency (caller, key_hash);
CREATE INDEX idempotency_card ON idempotency (card_id) WHERE card_id IS NOT NULL;

-- One row for every write, in the write's transaction. The newest row's
-- created_at is the newest time in the file.
CREATE TABLE audit (
  id          INTEGER PRIMARY KEY,
  shop_id     INTEGER,                    -- 0: it concerns no shop
  actor_type  TEXT    NOT NULL CHECK (actor_type = 'api_key' OR actor_type = 'device' OR actor_type = 'user' OR actor_type = 'holder' OR actor_type = 'system'),
  actor_id    INTEGER,
  actor_name  TEXT,                       -- of a user at the command line: the system's account name
  action      TEXT    NOT NULL,
  target_kind INTEGER NOT NULL,           -- store.Kind
  target_id   INTEGER NOT NULL,
  detail      TEXT,                       -- JSON object without secrets; of personal data, only the reason of an adjustment, until its card is erased
  created_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX audit_shop ON audit (shop_id);
CREATE INDEX audit_card ON audit (target_id) WHERE target_kind = 4 AND (actor_type <> 'api_key' OR action <> 'card.issue'); -- see cardAudit

-- People. A person has one account, which may be of several shops, with a role in
-- each. An account begins when its invitation is accepted.
CREATE TABLE users (
  id                  INTEGER PRIMARY KEY,
  email               TEXT    NOT NULL,
  email_key           TEXT    NOT NULL,   -- email without case
  name                TEXT    NOT NULL,
  password            TEXT    NOT NULL,   -- argon2id in PHC form
  language            TEXT    NOT NULL,   -- of pages and mail
  operator            INTEGER NOT NULL,   -- 1: runs the server, with all its shops
  disabled_at         INTEGER,
  totp_secret         BLOB,               -- of the second factor; null: there is none
  totp_offered        BLOB,               -- a new secret that no code has confirmed yet
  totp_step           INTEGER NOT NULL DEFAULT 0, -- time step of the last code that was accepted
  password_changed_at INTEGER NOT NULL,
  last_sign_in_at     INTEGER,
  created_at          INTEGER NOT NULL,
  updated_at          INTEGER NOT NULL,
  email_proved        INTEGER NOT NULL DEFAULT 0 -- 1: the person has opened a link that only the mailbox was given
) STRICT;
CREATE UNIQUE INDEX users_email ON users (email_key);

CREATE TABLE memberships (
  user_id    INTEGER NOT NULL REFERENCES users,
  shop_id    INTEGER NOT NULL REFERENCES shops,
  role       TEXT    NOT NULL CHECK (role = 'owner' OR role = 'manager' OR role = 'viewer'),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, shop_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memberships_shop ON memberships (shop_id);

-- The sessions of people who are signed in. A session that ends is deleted.
CREATE TABLE sessions (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id    INTEGER NOT NULL REFERENCES users,
  hash       BLOB    NOT NULL,            -- SHA-256 of the token in the cookie
  shop_id    INTEGER REFERENCES shops,    -- the shop that is looked at; null: the person's first one
  pending    INTEGER NOT NULL,            -- 1: the password was right, and the second factor is still missing
  address    TEXT    NOT NULL,            -- from which it was begun; empty: not known
  agent      TEXT    NOT NULL,            -- User-Agent of the browser
  created_at INTEGER NOT NULL,
  used_at    INTEGER NOT NULL,            -- exact to an hour
  proved_at  INTEGER NOT NULL             -- when the password or a code of the second factor was last given
) STRICT;
CREATE UNIQUE INDEX sessions_hash ON sessions (hash);
CREATE INDEX sessions_user ON sessions (user_id);
CREATE INDEX sessions_created ON sessions (created_at);

-- One-time links. A link that was used, replaced or cancelled is deleted.
CREATE TABLE links (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  kind       TEXT    NOT NULL CHECK (kind = 'setup' OR kind = 'invitation' OR kind = 'reset'),
  hash       BLOB    NOT NULL,            -- SHA-256 of the token
  user_id    INTEGER REFERENCES users,    -- whose password a reset sets
  email      TEXT,                        -- of the person who is invited
  email_key  TEXT,
  shop_id    INTEGER REFERENCES shops,    -- of the invitation; null: the person becomes an operator
  role       TEXT    CHECK (role = 'owner' OR role = 'manager' OR role = 'viewer'),
  created_by INTEGER REFERENCES users,    -- null: the command line or the server
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  mailed     INTEGER NOT NULL DEFAULT 0   -- 1: only the mailbox was given the link, and nobody was shown it
) STRICT;
CREATE UNIQUE INDEX links_hash ON links (hash);
CREATE INDEX links_shop ON links (shop_id) WHERE shop_id IS NOT NULL;
CREATE INDEX links_expire ON links (expires_at);

-- The queue of messages with one-time links. Deleting a link deletes its message.
CREATE TABLE link_mails (
  link_id  INTEGER PRIMARY KEY REFERENCES links ON DELETE CASCADE,
  token    TEXT    NOT NULL,              -- of the link, which cannot be had from its hash
  due_at   INTEGER NOT NULL,              -- of the next attempt
  attempts INTEGER NOT NULL DEFAULT 0,
  unsure   INTEGER NOT NULL DEFAULT 0     -- attempts after which nobody knows whether it arrived
) STRICT;
CREATE INDEX link_mails_due ON link_mails (due_at);

CREATE TABLE recovery_codes (
  user_id INTEGER NOT NULL REFERENCES users,
  hash    BLOB    NOT NULL,               -- SHA-256 of the code; its row is deleted when it is used
  PRIMARY KEY (user_id, hash)
) STRICT, WITHOUT ROWID;

-- Wrong passwords and codes, and requests that are limited, by what the rules count them for
-- (store/user_guess.go).
CREATE TABLE sign_in_failures (
  subject      BLOB    NOT NULL PRIMARY KEY, -- keyed hash of an account, an address or a browser
  failed_at    TEXT    NOT NULL,          -- JSON array of times within the rule's window, oldest first
  locks        INTEGER NOT NULL,          -- since the last one was forgotten; each is longer than the one before
  locked_until INTEGER NOT NULL,          -- 0: not locked
  ends_at      INTEGER NOT NULL,          -- when all this is forgotten
  audit_id     INTEGER NOT NULL DEFAULT 0 -- newest audit row about it; 0: none
) STRICT, WITHOUT ROWID;
CREATE INDEX sign_in_failures_ends ON sign_in_failures (ends_at);

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
  deleted_at               INTEGER,           -- 404 for every caller; housekeeping deletes its log and then the row
  draft                    INTEGER NOT NULL DEFAULT 0 -- 1: an assistant made it; nothing is sent to it until a person activates it
) STRICT;
CREATE INDEX webhooks_shop ON webhooks (shop_id);
CREATE INDEX webhooks_program ON webhooks (program_id) WHERE deleted_at IS NULL;
CREATE INDEX webhooks_deleted ON webhooks (deleted_at) WHERE deleted_at IS NOT NULL;

-- An event is stored once, however many webhooks it is sent to. Its event_id
-- differs for each delivery and is inserted when it is sent.
CREATE TABLE events (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  shop_id     INTEGER NOT NULL REFERENCES shops,
  name        TEXT    NOT NULL,
  card_id     INTEGER,                    -- whose data the payload holds, so that an erase finds it
  payload_v1  BLOB,                       -- null: no webhook of that version matched
  payload_v2  BLOB,
  occurred_at INTEGER NOT NULL,
  sequence    INTEGER                     -- grows by one with each event of the shop; null: written before version 6, its id counts
) STRICT;
CREATE INDEX events_card ON events (card_id) WHERE card_id IS NOT NULL;

-- The queue and the log of deliveries: one row for each event and webhook. A new
-- row has no id, no index entry, no foreign key to look up, and nothing but nulls
-- and defaults beside its keys, so that a stamp that is sent to fifty webhooks
-- remains cheap. Before its first attempt due_at is null; the event_ids of such
-- rows are greater than the webhook's sent_through, in the order of the commits.
CREATE TABLE deliveries (
  webhook_id      INTEGER NOT NULL,
  event_id        INTEGER NOT NULL,
  outcome         TEXT    CHECK (outcome = 'delivered' OR outcome = 'failed'), -- null: pending. New rows leave out every column that has a default, to be small
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

-- The queue of messages to send. Their address and content are read from the card
-- when they are sent, so that this table has no personal data, and no message goes
-- to a former address of the card.
CREATE TABLE mails (
  card_id    INTEGER PRIMARY KEY REFERENCES cards, -- the root of a chain, of which only the newest link is of use
  token      TEXT    NOT NULL,           -- of the install link, which cannot be had from its hash
  ends_at    INTEGER NOT NULL,           -- with the link
  due_at     INTEGER NOT NULL,           -- of the next attempt
  attempts   INTEGER NOT NULL DEFAULT 0,
  unsure     INTEGER NOT NULL DEFAULT 0, -- attempts after which nobody knows whether it arrived
  created_at INTEGER NOT NULL,
  shop_id    INTEGER NOT NULL REFERENCES shops,
  quota      TEXT    CHECK (quota = 'shop' OR quota = 'address') -- that it has waited for; null: none. Its link is renewed when it is sent
) STRICT;
CREATE INDEX mails_due  ON mails (due_at);
CREATE INDEX mails_ends ON mails (ends_at);
CREATE INDEX mails_shop ON mails (shop_id, due_at) WHERE quota = 'shop';

-- The messages of the last day, which the quotas count (store/mail_quota.go).
CREATE TABLE sent_mails (
  id      INTEGER PRIMARY KEY,
  shop_id INTEGER NOT NULL REFERENCES shops,
  card_id INTEGER NOT NULL REFERENCES cards, -- the root of the chain; erasing it deletes the row
  address BLOB    NOT NULL,                  -- keyed hash of the address
  sent_at INTEGER NOT NULL,
  public  INTEGER NOT NULL DEFAULT 0         -- 1: a form that is open to anybody asked for it
) STRICT;
CREATE INDEX sent_mails_shop    ON sent_mails (shop_id, sent_at);
CREATE INDEX sent_mails_public  ON sent_mails (shop_id, sent_at) WHERE public = 1;
CREATE INDEX sent_mails_address ON sent_mails (address, sent_at);
CREATE INDEX sent_mails_card    ON sent_mails (card_id);

-- What was asked for at /lost: the links of the cards with an email. A request is stored
-- whether there are such cards or not, and is looked at after it was answered. One that
-- finds none is deleted then.
CREATE TABLE lost_mails (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  shop_id    INTEGER NOT NULL,            -- whose cards; 0: those of all shops
  email      TEXT    NOT NULL,            -- what was asked for, with A to Z in lower case
  language   TEXT    NOT NULL,            -- of the page
  token      TEXT    NOT NULL,            -- random, for the id of the message
  due_at     INTEGER NOT NULL,            -- of the next attempt
  attempts   INTEGER NOT NULL DEFAULT 0,
  unsure     INTEGER NOT NULL DEFAULT 0,  -- attempts after which nobody knows whether it arrived
  created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX lost_mails_email ON lost_mails (email, shop_id);
CREATE INDEX lost_mails_due ON lost_mails (due_at);

-- Browsers that show notices about a card (Web Push). They end with a reissue and with the card.
CREATE TABLE push_subscriptions (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  card_id    INTEGER NOT NULL REFERENCES cards, -- the first one of its chain
  shop_id    INTEGER NOT NULL REFERENCES shops,
  endpoint   TEXT    NOT NULL,            -- URL of the browser's push service, secret
  public_key BLOB    NOT NULL,            -- of the browser, on P-256
  auth       BLOB    NOT NULL,            -- secret shared with the browser
  notify     TEXT    NOT NULL CHECK (notify = 'prizes' OR notify = 'all'),
  language   TEXT    NOT NULL,            -- of the page when it was made
  told       TEXT,                        -- what the card showed at the last notice, JSON; null: not known yet
  created_at INTEGER NOT NULL,
  attempts   INTEGER NOT NULL DEFAULT 0,  -- in a row that failed
  due_at     INTEGER NOT NULL DEFAULT 0,  -- before which none is made
  outcome    TEXT,                        -- of the last attempt; null: none was made
  outcome_at INTEGER,
  program_id INTEGER NOT NULL REFERENCES programs
) STRICT;
CREATE UNIQUE INDEX push_subscriptions_endpoint ON push_subscriptions (card_id, endpoint);
CREATE INDEX push_subscriptions_program ON push_subscriptions (program_id);
CREATE INDEX push_subscriptions_outcome ON push_subscriptions (shop_id, outcome_at);
CREATE INDEX push_subscriptions_failed ON push_subscriptions (outcome) WHERE outcome<>'sent';

-- Cards that have changed and are to be shown where a copy of them is. Changes of one card collapse.
CREATE TABLE pushes (
  card_id  INTEGER NOT NULL REFERENCES cards, -- the first one of its chain
  copy     INTEGER NOT NULL,              -- a bit of cards.copies
  shop_id  INTEGER NOT NULL REFERENCES shops,
  due_at   INTEGER NOT NULL,              -- of the next attempt
  changes  INTEGER NOT NULL DEFAULT 1,    -- that are waiting
  PRIMARY KEY (card_id, copy)
) STRICT, WITHOUT ROWID;
CREATE INDEX pushes_due ON pushes (copy, due_at);

-- Passes of chains for Apple Wallet, which phones read again when they change. A pass is one of a
-- generation of the chain's code: a reissue ends it. Each change makes the row again, so that its key is a
-- counter of changes.
CREATE TABLE apple_passes (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  card_id     INTEGER NOT NULL REFERENCES cards, -- the first one of its chain
  shop_id     INTEGER NOT NULL REFERENCES shops,
  generation  INTEGER NOT NULL,
  hash        BLOB    NOT NULL,           -- SHA-256 of what the pass shows
  modified_at INTEGER NOT NULL,           -- whole seconds, more with each change
  downloaded  INTEGER NOT NULL,           -- id when it was last downloaded from the card's page; 0: never
  delete_at   INTEGER,                    -- it has ended, or no phone has it; null: a phone has it
  program_id  INTEGER NOT NULL REFERENCES programs,
  UNIQUE (card_id, generation)
) STRICT;
CREATE INDEX apple_passes_delete ON apple_passes (delete_at) WHERE delete_at IS NOT NULL;
CREATE INDEX apple_passes_program ON apple_passes (program_id) WHERE delete_at IS NULL;

-- Phones that Apple is asked to wake when a pass changes.
CREATE TABLE apple_devices (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  card_id    INTEGER NOT NULL REFERENCES cards, -- the first one of its chain
  shop_id    INTEGER NOT NULL REFERENCES shops,
  generation INTEGER NOT NULL,            -- of the pass
  device     TEXT    NOT NULL,            -- Apple's name of the phone for passes of this type
  push_token TEXT    NOT NULL,            -- secret
  listed     INTEGER NOT NULL DEFAULT 0,  -- apple_passes.id when the phone last asked what has changed
  created_at INTEGER NOT NULL,
  told       TEXT,                        -- apple_passes.id of which the phone was woken
  attempts   INTEGER NOT NULL DEFAULT 0,  -- in a row that failed
  due_at     INTEGER NOT NULL DEFAULT 0,  -- before which none is made
  outcome    TEXT,                        -- of the last attempt; null: none was made
  outcome_at INTEGER
) STRICT;
CREATE UNIQUE INDEX apple_devices_pass ON apple_devices (card_id, generation, device);
CREATE INDEX apple_devices_device ON apple_devices (device);
CREATE INDEX apple_devices_outcome ON apple_devices (shop_id, outcome_at);
CREATE INDEX apple_devices_failed ON apple_devices (outcome) WHERE outcome<>'sent';
-- What shops have set up for Apple Wallet. The request for the next certificate waits beside the certificate in use.
CREATE TABLE apple_wallets (
  shop_id         INTEGER PRIMARY KEY REFERENCES shops,
  pass_type       TEXT,                     -- up to not_after: of the certificate in use; null: none yet
  team            TEXT,
  organization    TEXT,
  certificate_der BLOB,
  private_key     BLOB,                     -- of the certificate: PKCS #8, secret
  not_after       INTEGER,
  set_at          INTEGER,                  -- when the shop gave the certificate
  request_der     BLOB,                     -- that waits for its certificate; null: none
  request_key     BLOB,                     -- of the request: PKCS #8, secret
  requested_at    INTEGER
) STRICT;
CREATE INDEX apple_wallets_end ON apple_wallets (not_after) WHERE not_after IS NOT NULL;

-- What shops have set up for Google Wallet.
CREATE TABLE google_wallets (
  shop_id      INTEGER PRIMARY KEY REFERENCES shops,
  issuer_id    TEXT    NOT NULL, -- may be that of several shops
  account      BLOB    NOT NULL, -- file of the service account, secret; empty: it was removed
  client_email TEXT    NOT NULL,
  publishing   INTEGER NOT NULL, -- Google has granted access: not to the issuer's testers alone
  set_at       INTEGER NOT NULL,
  next_call    INTEGER NOT NULL DEFAULT 0 -- before which no request is made, by the real clock
) STRICT;
CREATE INDEX google_wallets_issuer ON google_wallets (issuer_id);

-- Programs at Google Wallet.
CREATE TABLE google_classes (
  program_id INTEGER PRIMARY KEY REFERENCES programs,
  shop_id    INTEGER NOT NULL REFERENCES shops,
  told       TEXT    NOT NULL -- hash of what Google shows; empty: Google may not know it
) STRICT;
CREATE INDEX google_classes_shop ON google_classes (shop_id);

-- Chains at Google Wallet. An object is one of a generation of the code, as a pass for Apple Wallet is.
CREATE TABLE google_objects (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  card_id    INTEGER NOT NULL REFERENCES cards, -- the first one of its chain
  shop_id    INTEGER NOT NULL REFERENCES shops,
  program_id INTEGER NOT NULL REFERENCES programs,
  generation INTEGER NOT NULL,
  told       TEXT    NOT NULL, -- what Google shows, JSON; empty: it was not made yet
  saved      INTEGER NOT NULL DEFAULT 0, -- phones that have it, by callbacks
  look_at    INTEGER, -- when it changes by time alone; null: never, or it is queued
  attempts   INTEGER NOT NULL DEFAULT 0, -- in a row that failed
  due_at     INTEGER NOT NULL DEFAULT 0, -- before which none is made
  outcome    TEXT, -- of the last attempt; null: none was made
  outcome_at INTEGER,
  UNIQUE (card_id, generation)
) STRICT;
CREATE INDEX google_objects_look ON google_objects (look_at) WHERE look_at IS NOT NULL;
CREATE INDEX google_objects_saved ON google_objects (shop_id, program_id) WHERE saved > 0;
CREATE INDEX google_objects_outcome ON google_objects (shop_id, outcome_at);
CREATE INDEX google_objects_failed ON google_objects (outcome) WHERE outcome<>'sent';

-- Callbacks of Google that were counted, until they cannot be sent again.
CREATE TABLE google_nonces (
  nonce     TEXT    PRIMARY KEY,
  shop_id   INTEGER NOT NULL REFERENCES shops,
  delete_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX google_nonces_delete ON google_nonces (delete_at);
CREATE INDEX google_nonces_shop ON google_nonces (shop_id);

-- The sums that statistics read. Every write to the ledger updates them in its own
-- transaction. They include deleted programs. "punchcard check" compares them with
-- the ledger, and --rebuild computes them again.
CREATE TABLE program_counts (
  program_id  INTEGER PRIMARY KEY REFERENCES programs,
  active      INTEGER NOT NULL DEFAULT 0, -- cards of status active, and those that expired but are not yet marked lapsed
  apple       INTEGER NOT NULL DEFAULT 0, -- chains with an installed card, archived and lapsed cards left out
  google      INTEGER NOT NULL DEFAULT 0,
  balance     INTEGER NOT NULL DEFAULT 0, -- cents on cards that are not archived
  stamps      INTEGER NOT NULL DEFAULT 0, -- from here on without what was reversed
  redemptions INTEGER NOT NULL DEFAULT 0,
  completed   INTEGER NOT NULL DEFAULT 0, -- cycles, and full cards on which nothing is left to claim
  open_cards  INTEGER NOT NULL DEFAULT 0, -- all others with a stamp in a cycle that is not completed
  span_ms     INTEGER NOT NULL DEFAULT 0, -- from the first to the last stamp row, over all cards
  gaps        INTEGER NOT NULL DEFAULT 0, -- stamp rows less one, over all cards that have any
  uses        INTEGER NOT NULL DEFAULT 0,
  entries     INTEGER NOT NULL DEFAULT 0,
  topped_up   INTEGER NOT NULL DEFAULT 0, -- cents
  spent       INTEGER NOT NULL DEFAULT 0  -- cents
) STRICT;

CREATE TABLE place_counts (
  program_id  INTEGER NOT NULL,
  location_id INTEGER NOT NULL,
  cards       INTEGER NOT NULL DEFAULT 0, -- issued or first presented there, overflow children left out
  stamps      INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (program_id, location_id)
) STRICT, WITHOUT ROWID;

-- The sums by time. Every time zone differs from UTC by a whole number of quarter
-- hours, so quarter_counts give the days of any zone. day_counts and hour_counts
-- are those of the shop's zone, and are computed again when it changes.
CREATE TABLE quarter_counts (
  program_id  INTEGER NOT NULL,
  quarter     INTEGER NOT NULL,           -- of an hour, since 1970 in UTC
  location_id INTEGER NOT NULL,           -- 0: new cards, which count at no location
  activity    INTEGER NOT NULL DEFAULT 0, -- rows that are neither reversed nor reversals or expiries
  stamps      INTEGER NOT NULL DEFAULT 0,
  cards       INTEGER NOT NULL DEFAULT 0, -- created, overflow children left out
  redemptions INTEGER NOT NULL DEFAULT 0, -- this and the columns below without what was reversed
  topped_up   INTEGER NOT NULL DEFAULT 0, -- cents
  spent       INTEGER NOT NULL DEFAULT 0, -- cents
  PRIMARY KEY (program_id, quarter, location_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE day_counts (
  program_id  INTEGER NOT NULL,
  day         INTEGER NOT NULL,           -- of the shop's calendar, since 1970-01-01
  location_id INTEGER NOT NULL,
  activity    INTEGER NOT NULL DEFAULT 0,
  stamps      INTEGER NOT NULL DEFAULT 0,
  cards       INTEGER NOT NULL DEFAULT 0,
  redemptions INTEGER NOT NULL DEFAULT 0,
  topped_up   INTEGER NOT NULL DEFAULT 0,
  spent       INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (program_id, day, location_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE hour_counts (
  program_id INTEGER NOT NULL,
  weekday    INTEGER NOT NULL,            -- 0: Sunday
  hour       INTEGER NOT NULL,            -- of the shop's clock
  stamps     INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (program_id, weekday, hour)
) STRICT, WITHOUT ROWID;

CREATE INDEX cards_lapse ON cards (program_id, expires_at) WHERE expires_at IS NOT NULL AND activated_at IS NOT NULL AND locked_at IS NULL AND archived_at IS NULL AND deleted_at IS NULL AND lapsed = 0;
CREATE INDEX cards_installed_lapse ON cards (program_id, expires_at) WHERE expires_at IS NOT NULL AND installed_at IS NOT NULL AND archived_at IS NULL AND deleted_at IS NULL AND lapsed = 0;

-- Changes of a card's state are rare and made in many places, so a trigger counts
-- them. The code that writes new cards and ledger rows counts those.
CREATE TRIGGER cards_counted AFTER UPDATE OF activated_at, locked_at, archived_at, deleted_at, lapsed ON cards BEGIN
  UPDATE program_counts SET
    active = active + (new.activated_at IS NOT NULL AND new.locked_at IS NULL AND new.archived_at IS NULL AND new.deleted_at IS NULL AND new.lapsed = 0)
                    - (old.activated_at IS NOT NULL AND old.locked_at IS NULL AND old.archived_at IS NULL AND old.deleted_at IS NULL AND old.lapsed = 0),
    balance = balance + iif(new.archived_at IS NULL, ifnull(new.current_value, 0), 0) - iif(old.archived_at IS NULL, ifnull(old.current_value, 0), 0)
  WHERE program_id = new.program_id;
END;

-- A chain is counted as installed once, however many of its cards are. So a card
-- changes the count only where no other card of its chain is counted. All cards of
-- a chain that are counted have the same platform.
CREATE TRIGGER cards_installed AFTER UPDATE OF installed_at, platform, archived_at, deleted_at, lapsed ON cards
WHEN (old.installed_at IS NOT NULL OR new.installed_at IS NOT NULL) AND NOT EXISTS (SELECT 1 FROM cards o
  WHERE (o.id = ifnull(new.root_id, new.id) OR o.root_id = ifnull(new.root_id, new.id)) AND o.id <> new.id
  AND o.installed_at IS NOT NULL AND o.archived_at IS NULL AND o.deleted_at IS NULL AND o.lapsed = 0) BEGIN
  UPDATE program_counts SET
    apple  = apple  + (new.platform IS 'apple' AND new.installed_at IS NOT NULL AND new.archived_at IS NULL AND new.deleted_at IS NULL AND new.lapsed = 0)
                    - (old.platform IS 'apple' AND old.installed_at IS NOT NULL AND old.archived_at IS NULL AND old.deleted_at IS NULL AND old.lapsed = 0),
    google = google + (new.platform IS 'google' AND new.installed_at IS NOT NULL AND new.archived_at IS NULL AND new.deleted_at IS NULL AND new.lapsed = 0)
                    - (old.platform IS 'google' AND old.installed_at IS NOT NULL AND old.archived_at IS NULL AND old.deleted_at IS NULL AND old.lapsed = 0)
  WHERE program_id = new.program_id;
END;

-- A lapsed card whose expires_at changes is counted as active again until the new
-- expires_at.
CREATE TRIGGER cards_revived AFTER UPDATE OF expires_at ON cards WHEN new.lapsed = 1 AND new.expires_at IS NOT old.expires_at BEGIN
  UPDATE cards SET lapsed = 0 WHERE id = new.id;
END;
