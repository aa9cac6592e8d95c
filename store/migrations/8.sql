-- From version 7 to 8: the search for cards. The program fills card_words after this
-- script.
CREATE TABLE card_words (
  shop_id INTEGER NOT NULL,
  word    TEXT    NOT NULL,
  card_id INTEGER NOT NULL,
  PRIMARY KEY (shop_id, word, card_id)
) STRICT, WITHOUT ROWID;

-- Sums of redemptions and money by time. The program fills them after this script.
DROP TABLE quarter_counts;
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
DROP TABLE day_counts;
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

-- The audit rows about a card.
CREATE INDEX audit_card ON audit (target_id) WHERE target_kind = 4;

-- Uploaded logos.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '  max_stamps_per_day        INTEGER       -- that a chain may be given on a day of the shop''s calendar; set by operators
) STRICT',
  '  max_stamps_per_day        INTEGER,      -- that a chain may be given on a day of the shop''s calendar; set by operators
  logo_hash                 TEXT          -- of logos; null: none was uploaded
) STRICT') WHERE name = 'programs';

-- The last use of keys and devices.
UPDATE sqlite_schema SET sql = replace(sql, '  disabled_by_plan_at INTEGER
) STRICT',
  '  disabled_by_plan_at INTEGER,
  last_used_at        INTEGER             -- of the last request, written once a minute
) STRICT') WHERE name = 'keys';
UPDATE sqlite_schema SET sql = replace(sql, '  accepts_card_ids INTEGER NOT NULL DEFAULT 0 -- 1: its writes may name a card by its id
) STRICT',
  '  accepts_card_ids INTEGER NOT NULL DEFAULT 0, -- 1: its writes may name a card by its id
  last_used_at     INTEGER                -- of the last request, written once a minute
) STRICT') WHERE name = 'devices';
PRAGMA writable_schema = RESET;
CREATE INDEX programs_logo ON programs (logo_hash) WHERE logo_hash IS NOT NULL;
CREATE TABLE logos (
  hash         TEXT PRIMARY KEY,          -- SHA-256 of bytes, 16 bytes of it in hexadecimal
  content_type TEXT NOT NULL,
  bytes        BLOB NOT NULL
) STRICT;
