package command

import (
	"strings"
	"testing"
)

// TestNamesOfShops gives --shop the names of shops.
func TestNamesOfShops(t *testing.T) {
	f := newFile(t)
	f.run("shop create --name 'Bar Sole'")
	f.refused("program list", "--shop")
	f.prints("program list --shop 'bar sole'", "NAME")
	f.run("location create --shop 'Bar Sole' --name Sole --address 'Via Po 1' --city Torino --postal-code 10123 --country-code IT")
	f.prints("location list --shop 'BAR SOLE'", "Sole")
	f.prints("device create --shop 'Bar Sole' --location sole --name Till", "tdk_live_")
	f.refused("program list --shop Bar", "--shop: no shop is named Bar; there are: shp_", "(Bar Sole)")
	f.refused("program list --shop shp_x", "--shop: no such shop")
	f.run("shop create --name 'Bar Sole'")
	f.refused("program list --shop 'Bar Sole'", "--shop: 2 shops are named Bar Sole")
}

// TestRefusedTexts checks the refusals of empty and long names and of a URL, and how revoke-all
// counts keys.
func TestRefusedTexts(t *testing.T) {
	f := newFile(t)
	f.refused("card show ''", "the card must not be empty")
	f.refused("device revoke ' '", "the device must not be empty")
	if _, err := f.try("program show " + strings.Repeat("x", 10000)); err == nil || len(err.Error()) > 200 {
		t.Errorf("a long name: %v", err)
	}
	f.run("program create --name Tea --type standard --total-stamps 5 --icon-key cup")
	f.refused("webhook create Tea --url http://127.0.0.1 --event *", "--url: The URL must")
	f.prints("key revoke-all --yes", "0 keys revoked")
	f.run("key create --name One")
	f.prints("key revoke-all --yes", "1 key revoked")
}
