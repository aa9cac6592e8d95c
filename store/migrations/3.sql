-- The sums that statistics read; the program fills them after this script.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '  updated_at         INTEGER NOT NULL
) STRICT',
  '  updated_at         INTEGER NOT NULL,
  last_stamp_at      INTEGER,             -- of its unreversed stamp rows; null: it has none
  lapsed             INTEGER NOT NULL DEFAULT 0 -- 1: known to have expired, and no longer in program_counts.active
) STRICT') WHERE name = 'cards';
PRAGMA writable_schema = RESET;
DROP INDEX programs_shop;
CREATE INDEX programs_shop ON programs (shop_id);

CREATE TABLE program_counts (
  program_id  INTEGER PRIMARY KEY REFERENCES programs,
  active      INTEGER NOT NULL DEFAULT 0, -- cards of status active, and those that expired but are not yet marked lapsed
  apple       INTEGER NOT NULL DEFAULT 0, -- installed cards, overflow children left out
  google      INTEGER NOT NULL DEFAULT 0,
  balance     INTEGER NOT NULL DEFAULT 0, -- cents on cards that are not archived
  stamps      INTEGER NOT NULL DEFAULT 0, -- from here on without what was reversed
  redemptions INTEGER NOT NULL DEFAULT 0,
  completed   INTEGER NOT NULL DEFAULT 0, -- cycles
  open_cards  INTEGER NOT NULL DEFAULT 0, -- with a stamp in a cycle that is not completed
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

-- The same by time. Every zone is a whole number of quarter hours from UTC, so
-- these give the days of any zone; day_counts and hour_counts are those of the
-- shop's own, made anew when it changes.
CREATE TABLE quarter_counts (
  program_id  INTEGER NOT NULL,
  quarter     INTEGER NOT NULL,           -- of an hour, since 1970 in UTC
  location_id INTEGER NOT NULL,           -- 0: cards, which were made nowhere
  activity    INTEGER NOT NULL DEFAULT 0, -- rows that are neither reversed nor reversals or expiries
  stamps      INTEGER NOT NULL DEFAULT 0,
  cards       INTEGER NOT NULL DEFAULT 0, -- created, overflow children left out
  PRIMARY KEY (program_id, quarter, location_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE day_counts (
  program_id  INTEGER NOT NULL,
  day         INTEGER NOT NULL,           -- of the shop's calendar, since 1970-01-01
  location_id INTEGER NOT NULL,
  activity    INTEGER NOT NULL DEFAULT 0,
  stamps      INTEGER NOT NULL DEFAULT 0,
  cards       INTEGER NOT NULL DEFAULT 0,
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

-- Changes of a card's state are rare and come from many places; new cards and
-- the ledger are counted by those who write them.
CREATE TRIGGER cards_counted AFTER UPDATE OF activated_at, locked_at, archived_at, deleted_at, lapsed, installed_at, platform ON cards BEGIN
  UPDATE program_counts SET
    active = active + (new.activated_at IS NOT NULL AND new.locked_at IS NULL AND new.archived_at IS NULL AND new.deleted_at IS NULL AND new.lapsed = 0)
                    - (old.activated_at IS NOT NULL AND old.locked_at IS NULL AND old.archived_at IS NULL AND old.deleted_at IS NULL AND old.lapsed = 0),
    apple  = apple  + (new.root_id IS NULL AND new.installed_at IS NOT NULL AND new.platform IS 'apple')
                    - (old.root_id IS NULL AND old.installed_at IS NOT NULL AND old.platform IS 'apple'),
    google = google + (new.root_id IS NULL AND new.installed_at IS NOT NULL AND new.platform IS 'google')
                    - (old.root_id IS NULL AND old.installed_at IS NOT NULL AND old.platform IS 'google'),
    balance = balance + iif(new.archived_at IS NULL, ifnull(new.current_value, 0), 0) - iif(old.archived_at IS NULL, ifnull(old.current_value, 0), 0)
  WHERE program_id = new.program_id;
END;

-- A card that gets another date is counted as expiring anew.
CREATE TRIGGER cards_revived AFTER UPDATE OF expires_at ON cards WHEN new.lapsed = 1 AND new.expires_at IS NOT old.expires_at BEGIN
  UPDATE cards SET lapsed = 0 WHERE id = new.id;
END;
