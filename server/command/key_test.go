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
