-- Mail is queued in the file.
CREATE TABLE mails (
  card_id    INTEGER PRIMARY KEY REFERENCES cards, -- the root of a chain, of which only the newest link is of use
  token      TEXT    NOT NULL,           -- of the install link, which cannot be had from its hash
  ends_at    INTEGER NOT NULL,           -- with the link
  due_at     INTEGER NOT NULL,           -- of the next attempt
  attempts   INTEGER NOT NULL DEFAULT 0,
  unsure     INTEGER NOT NULL DEFAULT 0, -- attempts after which nobody knows whether it arrived
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX mails_due  ON mails (due_at);
CREATE INDEX mails_ends ON mails (ends_at);
