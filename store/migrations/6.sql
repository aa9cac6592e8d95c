-- A value by which the file recognises its id secret. The program fills it after this
-- script.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '  hook_epoch INTEGER NOT NULL DEFAULT 1   -- moves with whatever event matching caches: webhooks, shops
)',
  '  hook_epoch INTEGER NOT NULL DEFAULT 1,  -- moves with whatever event matching caches: webhooks, shops
  id_check   BLOB                         -- recognises id_secret; see secretCheck
)') WHERE name = 'meta';
PRAGMA writable_schema = RESET;
