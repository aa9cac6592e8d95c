-- People, and the settings of a shop that its pages need. No file of an older version
-- has any person.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '  event_sequence     INTEGER NOT NULL DEFAULT 0 -- of its last event
) STRICT',
  '  event_sequence     INTEGER NOT NULL DEFAULT 0, -- of its last event
  currency           TEXT    NOT NULL DEFAULT ''EUR'', -- ISO 4217
  language           TEXT    NOT NULL DEFAULT ''en'',
  require_totp       INTEGER NOT NULL DEFAULT 0 -- 1: owners and managers need a second factor
) STRICT') WHERE name = 'shops';
UPDATE sqlite_schema SET sql = replace(sql, 'raised by each change of what the server caches of keys, devices, shops, locations and programs',
  'raised by each change of what the server caches of keys, devices, sessions, shops, locations and programs') WHERE name = 'meta';
UPDATE sqlite_schema SET sql = replace(sql, '2 × key family, or 2 × device + 1',
  '2 × key family, 2 × device + 1, or the negative key of a person') WHERE name = 'idempotency';
UPDATE sqlite_schema SET sql = replace(sql, '  shop_id     INTEGER,
  actor_type',
  '  shop_id     INTEGER,                    -- 0: it concerns no shop
  actor_type') WHERE name = 'audit';
PRAGMA writable_schema = RESET;

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
  updated_at          INTEGER NOT NULL
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
  expires_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX links_hash ON links (hash);
CREATE INDEX links_shop ON links (shop_id) WHERE shop_id IS NOT NULL;
CREATE INDEX links_expire ON links (expires_at);

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

CREATE TABLE sign_in_failures (
  subject      BLOB    NOT NULL PRIMARY KEY, -- keyed hash of an account, an address, or both
  failed_at    TEXT    NOT NULL,          -- JSON array of times within the rule's window, oldest first
  locks        INTEGER NOT NULL,          -- since the last one was forgotten; each is longer than the one before
  locked_until INTEGER NOT NULL,          -- 0: not locked
  ends_at      INTEGER NOT NULL           -- when all this is forgotten
) STRICT, WITHOUT ROWID;
CREATE INDEX sign_in_failures_ends ON sign_in_failures (ends_at);
