-- From version 10 to 11: what assistants need: the day on which cards were last seen, the
-- calls of MCP keys, and drafts of webhooks.
-- The counted calls of MCP keys on each day in UTC.
CREATE TABLE key_calls (
  key_id INTEGER NOT NULL REFERENCES keys,
  day    INTEGER NOT NULL,                -- since 1970
  calls  INTEGER NOT NULL,
  PRIMARY KEY (key_id, day)
) STRICT, WITHOUT ROWID;

PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '  consent_at         INTEGER
) STRICT',
  '  consent_at         INTEGER,
  last_seen_day      INTEGER NOT NULL DEFAULT 0 -- on roots: day of the shop''s calendar on which a card of the chain was last presented; 0: never
) STRICT') WHERE name = 'cards';
UPDATE sqlite_schema SET sql = replace(sql, '  deleted_at               INTEGER            -- 404 for every caller; housekeeping deletes its log and then the row
) STRICT',
  '  deleted_at               INTEGER,           -- 404 for every caller; housekeeping deletes its log and then the row
  draft                    INTEGER NOT NULL DEFAULT 0 -- 1: an assistant made it; nothing is sent to it until a person activates it
) STRICT') WHERE name = 'webhooks';
PRAGMA writable_schema = RESET;
CREATE INDEX cards_seen    ON cards (program_id, last_seen_day) WHERE live = 1;
