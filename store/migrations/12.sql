-- From version 11 to 12: the remembered public URL, the country of a shop, tills that demand
-- a signed-in member of staff, accounts whose email is proved, links that only a mailbox has, and
-- the audit row of failures.
--
-- Nobody knows who made the accounts that exist. Operators vouch for their own. A second
-- factor must go on protecting its account against whoever reads the mailbox; see ResetPassword.
ALTER TABLE meta ADD COLUMN public_url TEXT;
ALTER TABLE shops ADD COLUMN country_code TEXT;
ALTER TABLE locations ADD COLUMN require_staff INTEGER NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN email_proved INTEGER NOT NULL DEFAULT 0;
ALTER TABLE links ADD COLUMN mailed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sign_in_failures ADD COLUMN audit_id INTEGER NOT NULL DEFAULT 0;
UPDATE users SET email_proved = 1 WHERE operator = 1 OR totp_secret IS NOT NULL;
