//go:build ignore

// Generate writes regions.txt from the metadata of github.com/nyaruka/phonenumbers.
package main

import (
	"cmp"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"

	"github.com/nyaruka/phonenumbers"
)

func main() {
	all, err := phonenumbers.MetadataCollection()
	if err != nil {
		log.Fatal(err)
	}
	slices.SortFunc(all.Metadata, func(a, b *phonenumbers.PhoneMetadata) int {
		return cmp.Or(cmp.Compare(a.GetCountryCode(), b.GetCountryCode()), cmp.Compare(rank(a), rank(b)))
	})
	var lines []byte
	for _, m := range all.Metadata {
		general := m.GetGeneralDesc()
		lengths := 0
		for _, n := range general.PossibleLength {
			lengths |= 1 << n
		}
		lines = fmt.Appendf(lines, "%d\t%s\t%s\t%s\t%s\t%b\t%s\t%s\n", m.GetCountryCode(), m.GetId(), m.GetInternationalPrefix(),
			m.GetNationalPrefixForParsing(), m.GetNationalPrefixTransformRule(), lengths, general.GetNationalNumberPattern(), types(m))
	}
	if err := os.WriteFile(os.Args[1], lines, 0o666); err != nil {
		log.Fatal(err)
	}
}

// rank returns the position of a region among those that share its calling code.
func rank(m *phonenumbers.PhoneMetadata) int {
	return slices.Index(phonenumbers.GetRegionCodesForCountryCode(int(m.GetCountryCode())), m.GetId())
}

// types returns a pattern that matches the numbers of all types that a region has.
func types(m *phonenumbers.PhoneMetadata) string {
	var patterns []string
	for _, d := range []*phonenumbers.PhoneNumberDesc{m.FixedLine, m.Mobile, m.TollFree, m.PremiumRate, m.SharedCost,
		m.PersonalNumber, m.Voip, m.Pager, m.Uan, m.Voicemail} {
		if p := d.GetNationalNumberPattern(); p != "" && p != "NA" && !slices.Contains(patterns, p) {
			patterns = append(patterns, p)
		}
	}
	return strings.Join(patterns, "|")
}
