package command

import (
	"bytes"
	"strings"
	"testing"

	"punchcard/store"
)

// TestPrintKeys checks that the list has the numbers of calls of MCP keys, and none for other keys.
func TestPrintKeys(t *testing.T) {
	var b bytes.Buffer
	printKeys(
		output{Writer: &b},
		store.KeyInfo{
			Key:        store.Key{ID: "key_m", Prefix: "tmk_live_abc", Class: "mcp", Name: "Assistant", Scopes: store.Scopes},
			CallsToday: 7,
			Calls30d:   5120,
		},
		store.KeyInfo{Key: store.Key{ID: "key_a", Prefix: "tsk_live_abc", Class: "api", Name: "CRM", LocationIDs: []string{"loc_1"}}},
	)
	want := strings.Join([]string{
		"ID\tPREFIX\tCLASS\tNAME\tSTATE\tSCOPES\tLOCATIONS\tCALLS TODAY\tIN 30 DAYS",
		"key_m\ttmk_live_abc\tmcp\tAssistant\tvalid\tall\tall\t7\t5120",
		"key_a\ttsk_live_abc\tapi\tCRM\tvalid\t0\t1\t-\t-", ""}, "\n")
	if got := b.String(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
