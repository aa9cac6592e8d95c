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

-- A value by which the file recognises its id secret. The program fills it after this
-- script.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '  hook_epoch INTEGER NOT NULL DEFAULT 1   -- moves with whatever event matching caches: webhooks, shops
)',
  '  hook_epoch INTEGER NOT NULL DEFAULT 1,  -- moves with whatever event matching caches: webhooks, shops
  id_check   BLOB                         -- recognises id_secret; see secretCheck
)') WHERE name = 'meta';
PRAGMA writable_schema = RESET;
