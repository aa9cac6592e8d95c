package sheet

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf16"

	"punchcard/store"
)

// in16 returns a text as UTF-16.
func in16(text string, order func(u uint16) [2]byte) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(text)) {
		two := order(u)
		b = append(b, two[:]...)
	}
	return b
}

func little(u uint16) [2]byte { return [2]byte{byte(u), byte(u >> 8)} }
func big(u uint16) [2]byte    { return [2]byte{byte(u >> 8), byte(u)} }

// row returns a row of a table.
func row(line int, cells ...string) store.RawRow { return store.RawRow{Line: line, Cells: cells} }

func TestRead(t *testing.T) {
	want := Sheet{[]string{"Name", "Phone"}, []store.RawRow{row(2, "Zoë", "+39 06"), row(4, "O'Neil, Jo")}}
	const commas = "Name,Phone\r\nZoë,'+39 06\r\n\r\n\"O'Neil, Jo\",\r\n"
	for name, file := range map[string][]byte{
		"UTF-8":              []byte(commas),
		"byte order mark":    []byte("\ufeff" + commas),
		"semicolons":         []byte("Name;Phone\nZoë;+39 06\n;\n\"O'Neil, Jo\""),
		"tabs":               []byte("Name\tPhone\t\nZoë\t'+39 06 \n\nO'Neil, Jo\t\t"),
		"Windows-1252":       []byte("Name;Phone\nZo\xeb;+39 06\n\nO'Neil, Jo"),
		"UTF-16 with a mark": in16("\ufeff"+commas, little),
		"UTF-16":             in16(commas, little),
		"UTF-16, big":        in16("\ufeff"+commas, big),
		"UTF-16, big, bare":  in16(commas, big),
	} {
		if got, err := Read(file); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	got, err := Read([]byte("\"Mobile\r\nnumber\",b\n1,2"))
	if want := (Sheet{[]string{"Mobile number", "b"}, []store.RawRow{row(3, "1", "2")}}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("a name of two lines: got %+v, %v", got, err)
	}
	got, err = Read([]byte("2026-01-31,31.12.2026,202601\n1,2,3"))
	if want := (Sheet{[]string{"2026-01-31", "31.12.2026", "202601"}, []store.RawRow{row(2, "1", "2", "3")}}); err != nil ||
		!reflect.DeepEqual(got, want) {
		t.Errorf("names that are dates: got %+v, %v", got, err)
	}
	got, err = Read([]byte("sep=;\na;b\n1,5;\"x\ny\"\n2;z"))
	if want := (Sheet{[]string{"a", "b"}, []store.RawRow{row(3, "1,5", "x\ny"), row(5, "2", "z")}}); err != nil ||
		!reflect.DeepEqual(got, want) {
		t.Errorf("named separator: got %+v, %v", got, err)
	}
}

func TestReadFaults(t *testing.T) {
	for _, c := range []struct {
		name, file string
		want       string
	}{
		{"empty", " \n", "is empty"},
		{"only a mark", "\ufeff", "is empty"},
		{"zip", "PK\x03\x04\x14\x00", "is a workbook or a zip file"},
		{"binary", "abc\x00\x01\x02", "is not a text file"},
		{"open quote", "a,b\n1,\"x\ny", "has in line 2 a quote"},
		{"inner quote", "a,b\n1,\"x\"y\"\n", "has in line 2 a quote"},
		{"bare quote", "sep=,\na,b\n1,x\"y\n", "has in line 3 a quote (\") in a cell"},
		{"many columns", strings.Repeat("x,", 1_000_000) + "\n1", "has 1000000 columns"},
		{"column twice", "a,b,a\n1,2,3", "two columns with the name a"},
		{"mostly UTF-8", "a,b\nZoë,Jörg\nRen\xe9,1\n", "in line 3 a character that cannot be read"},
		{"half UTF-8", "a,b\nZoë,1\nRen\xe9,1\n", "in line 3 a character that cannot be read"},
		{"a mark and another encoding", "\ufeffa,b\nRen\xe9,1\n", "in line 2 a character that cannot be read"},
		{"no character of Windows-1252", "a,b\nRen\x81,1\n", "in line 2 a character that cannot be read"},
		{"half a character of UTF-16", "\xff\xfea\x00\n\x00b\x00c", "in line 2 a character that cannot be read"},
		{"an address for a name", "ada@example.org,x\n1,2", "an address or a number in its first line"},
		{"a number of a country for a name", "x,333 123-4567\n1,2", "an address or a number in its first line"},
		{"a number for a name", "x,+39 333-123\n1,2", "an address or a number in its first line"},
		{"no names", ",,\n1", "names of the columns"},
		{"more cells", "a,b\n1,2\n1,2,3", "in line 3 more cells (3)"},
		{"more rows", "a\n" + strings.Repeat("1\n", MaxRows+1), "more than 100000 rows"},
		{"large", "a\n" + strings.Repeat("1", MaxBytes), "more than 50 MB"},
	} {
		_, err := Read([]byte(c.file))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("Name,Phone\r\nZoë,'+39 06\r\n"))
	f.Add([]byte("sep=;\n\"a\";b\n1;2"))
	f.Add([]byte("\xff\xfea\x00,\x00"))
	f.Fuzz(func(t *testing.T, file []byte) {
		s, err := Read(file)
		if err != nil {
			return
		}
		for _, r := range s.Rows {
			if len(r.Cells) == 0 || len(r.Cells) > len(s.Columns) || r.Line < 2 {
				t.Fatalf("row %+v of columns %q", r, s.Columns)
			}
		}
	})
}
