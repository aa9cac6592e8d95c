package command

import (
	"bytes"
	"strings"
	"testing"

	"punchcard/server/operation"
	"punchcard/server/wire"
	"punchcard/store"
)

// TestPrintKeys checks that the list has the numbers of calls of MCP keys, and none for other keys.
func TestPrintKeys(t *testing.T) {
	keys := operation.List[store.KeyInfo]{Data: []store.KeyInfo{
		{
			Key:        store.Key{ID: "key_m", Prefix: "tmk_live_abc", Class: "mcp", Name: "Assistant", Scopes: store.Scopes},
			CallsToday: 7,
			Calls30d:   5120,
		},
		{Key: store.Key{ID: "key_a", Prefix: "tsk_live_abc", Class: "api", Name: "CRM", LocationIDs: []string{"loc_1"}}},
	}}
	answer, err := decode(wire.Append(nil, &keys))
	noError(t, err)
	var b bytes.Buffer
	new(invocation).printTable(&b, answer.rows("data"), keyInfoColumns)
	want := strings.Join([]string{
		"ID\tPREFIX\tCLASS\tNAME\tSTATE\tSCOPES\tLOCATIONS\tCALLS TODAY\tIN 30 DAYS",
		"key_m\ttmk_live_abc\tmcp\tAssistant\tvalid\tall\tall\t7\t5120",
		"key_a\ttsk_live_abc\tapi\tCRM\tvalid\t0\t1\t-\t-", ""}, "\n")
	if got := b.String(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestKeyDefaults checks that an empty flag of a new key stands for the default, and that never and none
// are no end.
func TestKeyDefaults(t *testing.T) {
	f := newFile(t)
	for _, flags := range []string{"--scope=", "--location=", "--expires never", "--expires none", "--scope= --class api"} {
		var key operation.CreatedKey
		f.json(&key, "key create --name Till "+flags)
		if len(key.Scopes) != len(store.Scopes) || len(key.LocationIDs) != 0 || key.ExpiresAt.Valid {
			t.Errorf("with %s the key is %+v", flags, key)
		}
	}
	f.refused("key create --name Till --expires soon", "--expires: must be a time", "or never")
	f.refused("transaction list --from never", "--from: must be a time")
}
