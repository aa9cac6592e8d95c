-- From version 8 to 9: writes of tills that are made once, their members of staff, and
-- pairings of devices.
CREATE TABLE staff (
  id          INTEGER PRIMARY KEY,
  shop_id     INTEGER NOT NULL REFERENCES shops,
  location_id INTEGER NOT NULL REFERENCES locations,
  name        TEXT    NOT NULL,
  pin         TEXT    NOT NULL,           -- argon2id in PHC form
  disabled_at INTEGER,
  created_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX staff_location ON staff (location_id, name);
CREATE INDEX staff_shop ON staff (shop_id, location_id, name);

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

PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '  created_at   INTEGER NOT NULL
) STRICT',
  '  created_at   INTEGER NOT NULL,
  staff_id     INTEGER REFERENCES staff,  -- who was signed in at the till; null: nobody
  occurred_at  INTEGER,                   -- of a stamp that a till sent later: when it was given. The sums by time count it then
  client_reference TEXT                   -- UUID in lower case that the till gave the write; unique in the shop, also among cards
) STRICT') WHERE name = 'transactions';
UPDATE sqlite_schema SET sql = replace(sql, '  short_code         TEXT                 -- on roots: the code that people type; a reissue replaces it
) STRICT',
  '  short_code         TEXT,                -- on roots: the code that people type; a reissue replaces it
  client_reference   TEXT                 -- of its issue at a till; see transactions
) STRICT') WHERE name = 'cards';
PRAGMA writable_schema = RESET;
CREATE UNIQUE INDEX cards_reference ON cards (shop_id, client_reference) WHERE client_reference IS NOT NULL;
CREATE UNIQUE INDEX transactions_reference ON transactions (shop_id, client_reference) WHERE client_reference IS NOT NULL;
CREATE INDEX transactions_occurred ON transactions (shop_id, occurred_at) WHERE occurred_at IS NOT NULL;
