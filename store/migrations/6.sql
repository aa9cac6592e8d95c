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

-- A value by which the file recognises its id secret. The program fills it after this
-- script.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '  hook_epoch INTEGER NOT NULL DEFAULT 1   -- moves with whatever event matching caches: webhooks, shops
)',
  '  hook_epoch INTEGER NOT NULL DEFAULT 1,  -- moves with whatever event matching caches: webhooks, shops
  id_check   BLOB                         -- recognises id_secret; see secretCheck
)') WHERE name = 'meta';
PRAGMA writable_schema = RESET;
