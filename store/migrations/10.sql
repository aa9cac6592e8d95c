-- From version 9 to 10: cards that customers make themselves, and requests for the links of
-- lost cards.
-- How the customers of a shop make cards of a program themselves, by the form at
-- /join/slug. A program without a row never let them.
CREATE TABLE enrolments (
  program_id  INTEGER PRIMARY KEY REFERENCES programs,
  enabled     INTEGER NOT NULL,
  slug        TEXT    NOT NULL,           -- the end of the form's address, unique in the file
  name_field  TEXT    NOT NULL CHECK (name_field = 'required' OR name_field = 'optional' OR name_field = 'off'),
  email_field TEXT    NOT NULL CHECK (email_field = 'required' OR email_field = 'optional' OR email_field = 'off'),
  consent     INTEGER NOT NULL,           -- the version of consents that the form shows; 0: none
  max_cards   INTEGER NOT NULL,           -- that the form may ever make
  cards       INTEGER NOT NULL DEFAULT 0, -- that it has made
  hour        INTEGER NOT NULL DEFAULT 0, -- since 1970, of hour_cards
  hour_cards  INTEGER NOT NULL DEFAULT 0  -- that it has made in that hour
) STRICT;
CREATE UNIQUE INDEX enrolments_slug ON enrolments (slug);

-- What the form of a program asks its holders to agree to. A change is a new version, so
-- that it is known to what the holder of a card agreed.
CREATE TABLE consents (
  program_id  INTEGER NOT NULL REFERENCES programs,
  version     INTEGER NOT NULL,
  text        TEXT,                       -- null: there is only the link
  privacy_url TEXT,                       -- of the privacy notice
  created_at  INTEGER NOT NULL,
  PRIMARY KEY (program_id, version)
) STRICT, WITHOUT ROWID;

-- What was asked for at /lost: the links of the cards with an email. A request is stored
-- whether there are such cards or not, and is looked at after it was answered. One that
-- finds none is deleted then.
CREATE TABLE lost_mails (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  shop_id    INTEGER NOT NULL,            -- whose cards; 0: those of all shops
  email      TEXT    NOT NULL,            -- what was asked for, with A to Z in lower case
  language   TEXT    NOT NULL,            -- of the page
  token      TEXT    NOT NULL,            -- random, for the id of the message
  due_at     INTEGER NOT NULL,            -- of the next attempt
  attempts   INTEGER NOT NULL DEFAULT 0,
  unsure     INTEGER NOT NULL DEFAULT 0,  -- attempts after which nobody knows whether it arrived
  created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX lost_mails_email ON lost_mails (email, shop_id);
CREATE INDEX lost_mails_due ON lost_mails (due_at);

PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '  client_reference   TEXT                 -- of its issue at a till; see transactions
) STRICT',
  '  client_reference   TEXT,                -- of its issue at a till, see transactions; or "join " and the key of the form that made it
  consent_version    INTEGER,             -- of consents: what its holder was shown when the form at /join made it; null: nothing
  consent_at         INTEGER
) STRICT') WHERE name = 'cards';
UPDATE sqlite_schema SET sql = replace(sql, '  sent_at INTEGER NOT NULL
) STRICT',
  '  sent_at INTEGER NOT NULL,
  public  INTEGER NOT NULL DEFAULT 0         -- 1: a form that is open to anybody asked for it
) STRICT') WHERE name = 'sent_mails';
PRAGMA writable_schema = RESET;
CREATE INDEX sent_mails_public  ON sent_mails (shop_id, sent_at) WHERE public = 1;
