package store

import "testing"

// TestSchemaSum checks that schemaSum is the checksum of the schema of this version.
func TestSchemaSum(t *testing.T) {
	t.Parallel()
	objects := check(expectedSchema(version()))
	if sum := checksum(objects); sum != schemaSum {
		t.Errorf("store/schema.go: set schemaSum to %s; it is %s", sum, schemaSum)
	}
}

// TestBareSQL checks that comments and repeated white space are removed, except within quotes.
func TestBareSQL(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]string{
		"": "",
		"CREATE TABLE a (\n  b TEXT, -- why\n  c INT /* what */ NOT NULL\n) STRICT": "CREATE TABLE a ( b TEXT, c INT NOT NULL) STRICT",
		"CHECK (a = ' -- b  ''/* c */' OR \"d  e\")":                                "CHECK (a = ' -- b  ''/* c */' OR \"d  e\")",
		"a INT -- why\n, b TEXT ) STRICT":                                           "a INT, b TEXT) STRICT",
		"a /* b":                                                                    "a",
		"a -- b":                                                                    "a",
		"a - - b":                                                                   "a - - b",
		"[a  -- b] `c  d`":                                                          "[a  -- b] `c  d`",
		"'open  --":                                                                 "'open  --",
		"ab":                                                                        "ab", "a b": "a b",
		"a/**/b": "a b", "\t a\f\r\n": "a", "a\vb": "a\vb",
	} {
		if got := bareSQL(sql); got != want {
			t.Errorf("%q becomes %q, want %q", sql, got, want)
		}
	}
}
