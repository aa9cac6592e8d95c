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
