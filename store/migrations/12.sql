-- From version 11 to 12: the remembered public URL, the country of a shop, tills that demand
-- a signed-in member of staff, accounts whose email is proved, links that only a mailbox has,
-- the audit row of failures, names that the server adds to name_words many at a time, contacts, codes of
-- earlier cards, opening stamps, adjustments and imports.
--
-- Nobody knows who made the accounts that exist. Operators vouch for their own. A second
-- factor must go on protecting its account against whoever reads the mailbox; see ResetPassword.
ALTER TABLE meta ADD COLUMN public_url TEXT;
ALTER TABLE meta ADD COLUMN indexed_cards INTEGER NOT NULL DEFAULT 0;
ALTER TABLE shops ADD COLUMN country_code TEXT;
ALTER TABLE locations ADD COLUMN require_staff INTEGER NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN email_proved INTEGER NOT NULL DEFAULT 0;
ALTER TABLE links ADD COLUMN mailed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sign_in_failures ADD COLUMN audit_id INTEGER NOT NULL DEFAULT 0;
UPDATE users SET email_proved = 1 WHERE operator = 1 OR totp_secret IS NOT NULL;
CREATE TABLE name_words (
  part    INTEGER NOT NULL,               -- of the card's key; see namePart
  shop_id INTEGER NOT NULL,
  word    TEXT    NOT NULL,
  card_id INTEGER NOT NULL,
  PRIMARY KEY (part, shop_id, word, card_id)
) STRICT, WITHOUT ROWID;
DROP TABLE card_words;
ALTER TABLE programs ADD COLUMN welcome_stamps INTEGER NOT NULL DEFAULT 0;
ALTER TABLE cards ADD COLUMN opening_stamps INTEGER NOT NULL DEFAULT 0;
ALTER TABLE cards ADD COLUMN opening_left INTEGER NOT NULL DEFAULT 0;
ALTER TABLE transactions ADD COLUMN taken INTEGER NOT NULL DEFAULT 0;
CREATE TABLE contacts (
  card_id      INTEGER PRIMARY KEY REFERENCES cards,
  shop_id      INTEGER NOT NULL REFERENCES shops,
  phone        TEXT,
  phone_key    TEXT,
  birthday     TEXT,
  note         TEXT,
  member_since TEXT
) STRICT;
CREATE INDEX contacts_phone ON contacts (shop_id, phone_key) WHERE phone_key IS NOT NULL;
CREATE TABLE foreign_codes (
  shop_id    INTEGER NOT NULL REFERENCES shops,
  barcode    TEXT    NOT NULL,
  card_id    INTEGER NOT NULL REFERENCES cards,
  short_form TEXT,
  PRIMARY KEY (shop_id, barcode)
) STRICT, WITHOUT ROWID;
CREATE INDEX foreign_codes_card  ON foreign_codes (card_id);
CREATE INDEX foreign_codes_short ON foreign_codes (shop_id, short_form) WHERE short_form IS NOT NULL;

-- Checks that become wider. Copying the tables with all of their rows would take minutes, and SQLite
-- documents this way for changes that no row of a table can contradict.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'source = ''overflow'')', 'source = ''overflow'' OR source = ''import'')') WHERE type = 'table' AND name = 'cards';
UPDATE sqlite_schema SET sql = replace(sql, 'type = ''access'')', 'type = ''access'' OR type = ''adjustment'')') WHERE type = 'table' AND name = 'transactions';
UPDATE sqlite_schema SET sql = replace(sql, 'transaction_id INTEGER NOT NULL', 'transaction_id INTEGER') WHERE type = 'table' AND name = 'claims';
PRAGMA writable_schema = RESET;
