-- From version 11 to 12: the remembered public URL, the country of a shop, tills that demand
-- a signed-in member of staff, accounts whose email is proved, links that only a mailbox has,
-- the audit row of failures, and names that are added to name_words many at a time.
--
-- Nobody knows who made the accounts that exist. Operators vouch for their own. A second
-- factor must go on protecting its account against whoever reads the mailbox; see ResetPassword.
ALTER TABLE meta ADD COLUMN public_url TEXT;
ALTER TABLE meta ADD COLUMN indexed_cards INTEGER NOT NULL DEFAULT 0;
UPDATE meta SET indexed_cards = ifnull((SELECT max(id) FROM cards), 0);
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
INSERT INTO name_words (part, shop_id, word, card_id) SELECT card_id >> 12, shop_id, word, card_id FROM card_words ORDER BY 1, 2, 3, 4;
DROP TABLE card_words;
