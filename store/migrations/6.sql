-- Events are counted by shop. The count goes on from the last id, which is the
-- sequence of the events that have none.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '  updated_at         INTEGER NOT NULL
) STRICT',
  '  updated_at         INTEGER NOT NULL,
  event_sequence     INTEGER NOT NULL DEFAULT 0 -- of its last event
) STRICT') WHERE name = 'shops';
UPDATE sqlite_schema SET sql = replace(sql, '  occurred_at INTEGER NOT NULL
) STRICT',
  '  occurred_at INTEGER NOT NULL,
  sequence    INTEGER                     -- grows by one with each event of the shop; null: written before version 6, its id counts
) STRICT') WHERE name = 'events';
PRAGMA writable_schema = RESET;
UPDATE shops SET event_sequence = ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0);

-- Statistics count chains that are installed, and full cards on which nothing is
-- left to claim. The program fills the sums after this script.
DROP TRIGGER cards_counted;
DROP TABLE program_counts;
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
CREATE INDEX cards_erased  ON cards (program_id) WHERE deleted_at IS NOT NULL;
CREATE INDEX cards_installed_lapse ON cards (program_id, expires_at) WHERE expires_at IS NOT NULL AND installed_at IS NOT NULL AND archived_at IS NULL AND deleted_at IS NULL AND lapsed = 0;
CREATE TRIGGER cards_counted AFTER UPDATE OF activated_at, locked_at, archived_at, deleted_at, lapsed ON cards BEGIN
  UPDATE program_counts SET
    active = active + (new.activated_at IS NOT NULL AND new.locked_at IS NULL AND new.archived_at IS NULL AND new.deleted_at IS NULL AND new.lapsed = 0)
                    - (old.activated_at IS NOT NULL AND old.locked_at IS NULL AND old.archived_at IS NULL AND old.deleted_at IS NULL AND old.lapsed = 0),
    balance = balance + iif(new.archived_at IS NULL, ifnull(new.current_value, 0), 0) - iif(old.archived_at IS NULL, ifnull(old.current_value, 0), 0)
  WHERE program_id = new.program_id;
END;
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

-- Quotas of mail. What waits knows its shop and the quota that it waits for.
CREATE TEMP TABLE waiting AS SELECT m.*, c.shop_id FROM mails m JOIN cards c ON c.id = m.card_id;
DROP TABLE mails;
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
INSERT INTO mails (card_id, token, ends_at, due_at, attempts, unsure, created_at, shop_id)
  SELECT card_id, token, ends_at, due_at, attempts, unsure, created_at, shop_id FROM waiting;
DROP TABLE waiting;
CREATE INDEX mails_due  ON mails (due_at);
CREATE INDEX mails_ends ON mails (ends_at);
CREATE INDEX mails_shop ON mails (shop_id, due_at) WHERE quota = 'shop';
CREATE TABLE sent_mails (
  id      INTEGER PRIMARY KEY,
  shop_id INTEGER NOT NULL REFERENCES shops,
  card_id INTEGER NOT NULL REFERENCES cards, -- the root of the chain; erasing it deletes the row
  address BLOB    NOT NULL,                  -- keyed hash of the address
  sent_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sent_mails_shop    ON sent_mails (shop_id, sent_at);
CREATE INDEX sent_mails_address ON sent_mails (address, sent_at);
CREATE INDEX sent_mails_card    ON sent_mails (card_id);

-- Comments in plainer words.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'moves with whatever the gate caches: keys, shops, locations',
  'raised by each change of what the server caches of keys, devices, shops, locations and programs') WHERE name = 'meta';
UPDATE sqlite_schema SET sql = replace(sql, 'moves with whatever event matching caches: webhooks, shops',
  'raised by each change of what event matching caches: webhooks, shops') WHERE name = 'meta';
UPDATE sqlite_schema SET sql = replace(sql, 'null: pending. What a fresh row needs not say it does not, to be small',
  'null: pending. New rows leave out every column that has a default, to be small') WHERE name = 'deliveries';
UPDATE sqlite_schema SET sql = replace(sql, '0: cards, which were made nowhere',
  '0: new cards, which count at no location') WHERE name = 'quarter_counts';
UPDATE sqlite_schema SET sql = replace(sql, 'gone for every caller; the sweep takes its log and then the row',
  '404 for every caller; housekeeping deletes its log and then the row') WHERE name = 'webhooks';
PRAGMA writable_schema = RESET;

-- Codes that people type, and stamps per day. Devices that exist keep their use of card
-- ids. The program fills cards.short_code after this script.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '  revoked_at  INTEGER
) STRICT',
  '  revoked_at  INTEGER,
  accepts_card_ids INTEGER NOT NULL DEFAULT 0 -- 1: its writes may name a card by its id
) STRICT') WHERE name = 'devices';
UPDATE sqlite_schema SET sql = replace(sql, '  lapsed             INTEGER NOT NULL DEFAULT 0 -- 1: known to have expired, and no longer in program_counts.active
) STRICT',
  '  lapsed             INTEGER NOT NULL DEFAULT 0, -- 1: known to have expired, and no longer in program_counts.active
  short_code         TEXT                 -- on roots: the code that people type; a reissue replaces it
) STRICT') WHERE name = 'cards';
UPDATE sqlite_schema SET sql = replace(sql, '  deleted_at                INTEGER
) STRICT',
  '  deleted_at                INTEGER,
  max_stamps_per_day        INTEGER       -- that a chain may be given on a day of the shop''s calendar; set by operators
) STRICT') WHERE name = 'programs';
PRAGMA writable_schema = RESET;
UPDATE devices SET accepts_card_ids = 1;
CREATE UNIQUE INDEX cards_short_code ON cards (shop_id, short_code) WHERE short_code IS NOT NULL;

-- Deleted webhooks keep nothing that signs or authenticates. Their rows stay until
-- their logs are deleted.
UPDATE webhooks SET secret = '', bearer_token = NULL, custom_headers = '{}' WHERE deleted_at IS NOT NULL;
