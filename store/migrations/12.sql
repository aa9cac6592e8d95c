-- From version 11 to 12: the remembered public URL, the country of a shop, tills that demand
-- a signed-in member of staff, accounts whose email is proved, links that only a mailbox has,
-- the audit row of failures, phone numbers in enrolment, names that the server adds to name_words many at a
-- time, contacts, codes of earlier cards, opening stamps, adjustments, imports, shops that are
-- moved or deleted, the locations of staff, cards that are erased when they were not seen for long, public URLs of
-- shops, notices in browsers, certificates for Apple Wallet, an index of money, and two indexes that new cards do not
-- write to.
--
-- Nobody knows who made the accounts that exist. Operators vouch for their own. A second
-- factor must go on protecting its account against whoever reads the mailbox; see ResetPassword.
ALTER TABLE meta ADD COLUMN public_url TEXT;
ALTER TABLE meta ADD COLUMN indexed_cards INTEGER NOT NULL DEFAULT 0;
ALTER TABLE meta ADD COLUMN wipe_page INTEGER NOT NULL DEFAULT 0;
UPDATE meta SET wipe_page=1;
ALTER TABLE shops ADD COLUMN country_code TEXT;
ALTER TABLE shops ADD COLUMN closed TEXT CHECK (closed = 'moving' OR closed = 'moved' OR closed = 'deleted');
ALTER TABLE shops ADD COLUMN closed_at INTEGER;
ALTER TABLE shops ADD COLUMN moved_to TEXT;
ALTER TABLE shops ADD COLUMN forget_after_months INTEGER;
ALTER TABLE shops ADD COLUMN forget_since INTEGER;
ALTER TABLE shops ADD COLUMN public_url TEXT;
CREATE UNIQUE INDEX shops_public_url ON shops (public_url);
ALTER TABLE locations ADD COLUMN require_staff INTEGER NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN email_proved INTEGER NOT NULL DEFAULT 0;
ALTER TABLE links ADD COLUMN mailed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sign_in_failures ADD COLUMN audit_id INTEGER NOT NULL DEFAULT 0;
UPDATE users SET email_proved = 1 WHERE operator = 1 OR totp_secret IS NOT NULL;
CREATE TABLE name_words (
  part    INTEGER NOT NULL,               -- of the card's key; see namePart
  shop_id INTEGER NOT NULL,
  word    TEXT    NOT NULL,
  card_id INTEGER NOT NULL,
  PRIMARY KEY (part, shop_id, word, card_id)
) STRICT, WITHOUT ROWID;
DROP TABLE card_words;
ALTER TABLE enrolments ADD COLUMN phone_field TEXT NOT NULL DEFAULT 'off' CHECK (phone_field = 'required' OR phone_field = 'optional' OR phone_field = 'off');
ALTER TABLE programs ADD COLUMN welcome_stamps INTEGER NOT NULL DEFAULT 0;
ALTER TABLE cards ADD COLUMN opening_stamps INTEGER NOT NULL DEFAULT 0;
ALTER TABLE cards ADD COLUMN opening_left INTEGER NOT NULL DEFAULT 0;
ALTER TABLE transactions ADD COLUMN taken INTEGER NOT NULL DEFAULT 0;
CREATE TABLE contacts (
  card_id      INTEGER PRIMARY KEY REFERENCES cards,
  shop_id      INTEGER NOT NULL REFERENCES shops,
  phone        TEXT,
  phone_key    TEXT,
  birthday     TEXT,
  note         TEXT,
  member_since TEXT,
  correction   TEXT,
  correction_at INTEGER,
  erasure_at   INTEGER
) STRICT;
CREATE INDEX contacts_asked ON contacts (shop_id) WHERE correction_at IS NOT NULL OR erasure_at IS NOT NULL;
CREATE INDEX contacts_phone ON contacts (shop_id, phone_key) WHERE phone_key IS NOT NULL;
CREATE INDEX contacts_birthday ON contacts (shop_id, birthday) WHERE birthday IS NOT NULL;
CREATE INDEX cards_balance ON cards (program_id, current_value) WHERE current_value IS NOT NULL AND archived_at IS NULL;
CREATE TABLE foreign_codes (
  shop_id    INTEGER NOT NULL REFERENCES shops,
  barcode    TEXT    NOT NULL,
  card_id    INTEGER NOT NULL REFERENCES cards,
  short_form TEXT,
  PRIMARY KEY (shop_id, barcode)
) STRICT, WITHOUT ROWID;
CREATE INDEX foreign_codes_card  ON foreign_codes (card_id);
CREATE INDEX foreign_codes_short ON foreign_codes (shop_id, short_form) WHERE short_form IS NOT NULL;
ALTER TABLE cards ADD COLUMN import_id INTEGER REFERENCES imports;
CREATE INDEX cards_import ON cards (import_id) WHERE import_id IS NOT NULL;
CREATE INDEX cards_forget ON cards (shop_id, ifnull(current_value, 0) > 0, last_seen_day) WHERE root_id IS NULL AND deleted_at IS NULL AND (live = 0 OR current_value IS NOT NULL); -- cards_seen has the others
CREATE TABLE imports (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  shop_id       INTEGER NOT NULL REFERENCES shops,
  program_id    INTEGER REFERENCES programs,
  file_name     TEXT,
  hash          BLOB    NOT NULL,
  columns       TEXT    NOT NULL,
  options       TEXT,
  state         TEXT    NOT NULL CHECK (state = 'uploaded' OR state = 'running' OR state = 'done' OR state = 'undoing' OR state = 'undone'),
  rows          INTEGER NOT NULL,
  added         INTEGER NOT NULL DEFAULT 0,
  updated       INTEGER NOT NULL DEFAULT 0,
  unchanged     INTEGER NOT NULL DEFAULT 0,
  skipped       INTEGER NOT NULL DEFAULT 0,
  removed       INTEGER NOT NULL DEFAULT 0,
  kept          INTEGER NOT NULL DEFAULT 0,
  other_program INTEGER NOT NULL DEFAULT 0,
  points_left   INTEGER NOT NULL DEFAULT 0,
  through       INTEGER NOT NULL DEFAULT 0,
  invite_at     INTEGER,
  created_at    INTEGER NOT NULL,
  ended_at      INTEGER
) STRICT;
CREATE INDEX imports_shop ON imports (shop_id);
CREATE INDEX imports_state ON imports (state);
CREATE INDEX imports_invite ON imports (invite_at) WHERE invite_at IS NOT NULL;
CREATE TABLE import_parts (
  import_id INTEGER NOT NULL REFERENCES imports,
  part      INTEGER NOT NULL,
  rows      INTEGER NOT NULL,
  packed    BLOB    NOT NULL,
  PRIMARY KEY (import_id, part)
) STRICT, WITHOUT ROWID;
CREATE TABLE import_notes (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  import_id INTEGER NOT NULL REFERENCES imports,
  line      INTEGER NOT NULL,
  card_id   INTEGER REFERENCES cards,
  field     TEXT    NOT NULL,
  code      TEXT    NOT NULL,
  message   TEXT    NOT NULL
) STRICT;
CREATE INDEX import_notes_import ON import_notes (import_id);
CREATE INDEX transactions_money ON transactions (shop_id, location_id, value_delta) WHERE value_delta IS NOT NULL;
CREATE TABLE card_runs (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  shop_id     INTEGER NOT NULL REFERENCES shops,
  user_id     INTEGER REFERENCES users,
  action      TEXT    NOT NULL,
  state       TEXT    NOT NULL CHECK (state = 'running' OR state = 'done' OR state = 'stopped'),
  fields      TEXT    NOT NULL,
  roots       TEXT    NOT NULL,
  position    INTEGER NOT NULL,
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
CREATE TABLE staff_locations (
  staff_id    INTEGER NOT NULL REFERENCES staff,
  location_id INTEGER NOT NULL REFERENCES locations,
  PRIMARY KEY (staff_id, location_id)
) STRICT, WITHOUT ROWID;
INSERT INTO staff_locations (staff_id, location_id) SELECT id, location_id FROM staff;
DROP INDEX staff_location;
DROP INDEX staff_shop;
ALTER TABLE staff DROP COLUMN location_id;
CREATE INDEX staff_shop ON staff (shop_id, name);

ALTER TABLE cards ADD COLUMN copies INTEGER NOT NULL DEFAULT 0;
CREATE INDEX cards_passes ON cards (program_id) WHERE copies > 1;
ALTER TABLE programs ADD COLUMN queue_after INTEGER;
CREATE INDEX programs_queue ON programs (queue_after) WHERE queue_after IS NOT NULL;
CREATE TABLE push_subscriptions (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  card_id    INTEGER NOT NULL REFERENCES cards,
  shop_id    INTEGER NOT NULL REFERENCES shops,
  endpoint   TEXT    NOT NULL,
  public_key BLOB    NOT NULL,
  auth       BLOB    NOT NULL,
  notify     TEXT    NOT NULL CHECK (notify = 'prizes' OR notify = 'all'),
  language   TEXT    NOT NULL,
  told       TEXT,
  created_at INTEGER NOT NULL,
  attempts   INTEGER NOT NULL DEFAULT 0,
  due_at     INTEGER NOT NULL DEFAULT 0,
  outcome    TEXT,
  outcome_at INTEGER,
  program_id INTEGER NOT NULL REFERENCES programs
) STRICT;
CREATE UNIQUE INDEX push_subscriptions_endpoint ON push_subscriptions (card_id, endpoint);
CREATE INDEX push_subscriptions_program ON push_subscriptions (program_id);
CREATE INDEX push_subscriptions_outcome ON push_subscriptions (shop_id, outcome_at);
CREATE INDEX push_subscriptions_failed ON push_subscriptions (outcome) WHERE outcome<>'sent';
CREATE TABLE pushes (
  card_id  INTEGER NOT NULL REFERENCES cards,
  copy     INTEGER NOT NULL,
  shop_id  INTEGER NOT NULL REFERENCES shops,
  due_at   INTEGER NOT NULL,
  changes  INTEGER NOT NULL DEFAULT 1,
  PRIMARY KEY (card_id, copy)
) STRICT, WITHOUT ROWID;
CREATE INDEX pushes_due ON pushes (copy, due_at);
CREATE TABLE apple_passes (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  card_id     INTEGER NOT NULL REFERENCES cards,
  shop_id     INTEGER NOT NULL REFERENCES shops,
  generation  INTEGER NOT NULL,
  hash        BLOB    NOT NULL,
  modified_at INTEGER NOT NULL,
  downloaded  INTEGER NOT NULL,
  delete_at   INTEGER,
  program_id  INTEGER NOT NULL REFERENCES programs,
  UNIQUE (card_id, generation)
) STRICT;
CREATE INDEX apple_passes_delete ON apple_passes (delete_at) WHERE delete_at IS NOT NULL;
CREATE INDEX apple_passes_program ON apple_passes (program_id) WHERE delete_at IS NULL;
CREATE TABLE apple_devices (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  card_id    INTEGER NOT NULL REFERENCES cards,
  shop_id    INTEGER NOT NULL REFERENCES shops,
  generation INTEGER NOT NULL,
  device     TEXT    NOT NULL,
  push_token TEXT    NOT NULL,
  listed     INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  told       TEXT,
  attempts   INTEGER NOT NULL DEFAULT 0,
  due_at     INTEGER NOT NULL DEFAULT 0,
  outcome    TEXT,
  outcome_at INTEGER
) STRICT;
CREATE UNIQUE INDEX apple_devices_pass ON apple_devices (card_id, generation, device);
CREATE INDEX apple_devices_device ON apple_devices (device);
CREATE INDEX apple_devices_outcome ON apple_devices (shop_id, outcome_at);
CREATE INDEX apple_devices_failed ON apple_devices (outcome) WHERE outcome<>'sent';
CREATE TABLE apple_wallets (
  shop_id         INTEGER PRIMARY KEY REFERENCES shops,
  pass_type       TEXT,
  team            TEXT,
  organization    TEXT,
  certificate_der BLOB,
  private_key     BLOB,
  not_after       INTEGER,
  set_at          INTEGER,
  request_der     BLOB,
  request_key     BLOB,
  requested_at    INTEGER
) STRICT;
CREATE INDEX apple_wallets_end ON apple_wallets (not_after) WHERE not_after IS NOT NULL;
CREATE TABLE google_wallets (
  shop_id      INTEGER PRIMARY KEY REFERENCES shops,
  issuer_id    TEXT    NOT NULL,
  account      BLOB    NOT NULL,
  client_email TEXT    NOT NULL,
  publishing   INTEGER NOT NULL,
  set_at       INTEGER NOT NULL,
  next_call    INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX google_wallets_issuer ON google_wallets (issuer_id);
CREATE TABLE google_classes (
  program_id INTEGER PRIMARY KEY REFERENCES programs,
  shop_id    INTEGER NOT NULL REFERENCES shops,
  told       TEXT    NOT NULL
) STRICT;
CREATE INDEX google_classes_shop ON google_classes (shop_id);
CREATE TABLE google_objects (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  card_id    INTEGER NOT NULL REFERENCES cards,
  shop_id    INTEGER NOT NULL REFERENCES shops,
  program_id INTEGER NOT NULL REFERENCES programs,
  generation INTEGER NOT NULL,
  told       TEXT    NOT NULL,
  saved      INTEGER NOT NULL DEFAULT 0,
  look_at    INTEGER,
  attempts   INTEGER NOT NULL DEFAULT 0,
  due_at     INTEGER NOT NULL DEFAULT 0,
  outcome    TEXT,
  outcome_at INTEGER,
  UNIQUE (card_id, generation)
) STRICT;
CREATE INDEX google_objects_look ON google_objects (look_at) WHERE look_at IS NOT NULL;
CREATE INDEX google_objects_saved ON google_objects (shop_id, program_id) WHERE saved > 0;
CREATE INDEX google_objects_outcome ON google_objects (shop_id, outcome_at);
CREATE INDEX google_objects_failed ON google_objects (outcome) WHERE outcome<>'sent';
CREATE TABLE google_nonces (
  nonce     TEXT    PRIMARY KEY,
  shop_id   INTEGER NOT NULL REFERENCES shops,
  delete_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX google_nonces_delete ON google_nonces (delete_at);
CREATE INDEX google_nonces_shop ON google_nonces (shop_id);
DROP INDEX audit_card;
CREATE INDEX audit_card ON audit (target_id) WHERE target_kind = 4 AND (actor_type <> 'api_key' OR action <> 'card.issue'); -- see cardAudit

-- Checks that become wider. Copying the tables with all of their rows would take minutes, and SQLite
-- documents this way for changes that no row of a table can contradict.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'source = ''overflow'')', 'source = ''overflow'' OR source = ''import'')') WHERE type = 'table' AND name = 'cards';
UPDATE sqlite_schema SET sql = replace(sql, 'type = ''access'')', 'type = ''access'' OR type = ''adjustment'')') WHERE type = 'table' AND name = 'transactions';
UPDATE sqlite_schema SET sql = replace(sql, 'transaction_id INTEGER NOT NULL', 'transaction_id INTEGER') WHERE type = 'table' AND name = 'claims';
PRAGMA writable_schema = RESET;
