package command

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
)

// headersField is the field with the custom headers of a webhook.
const headersField = "custom_headers"

// maxHeaderFile is the maximum number of bytes of a file with headers.
const maxHeaderFile = 64 << 10

// headerFlag is the flag for custom headers whose values are secret.
type headerFlag struct {
	HeaderFile string `name:"header-file" env:"-" placeholder:"FILE" help:"File with further headers, one on each line, for values that are secret; - is standard input."`
}

// add adds the headers of the file to those of the form.
func (f *headerFlag) add(form url.Values) error {
	if f.HeaderFile == "" {
		return nil
	}
	in := os.Stdin
	if f.HeaderFile != "-" {
		file, err := os.Open(f.HeaderFile)
		if err != nil {
			return fmt.Errorf("--header-file: %w", err)
		}
		defer file.Close()
		in = file
	} else if form.Has("bearer_token") {
		return usagef("--header-file: must be a file, since standard input has the token of --bearer-token")
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxHeaderFile+1))
	switch {
	case err != nil:
		return fmt.Errorf("--header-file: %w", err)
	case len(raw) > maxHeaderFile:
		return usagef("--header-file: must have at most %d bytes", maxHeaderFile)
	}
	for n, line := range strings.Split(string(raw), "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if err := addHeader(form, line, fmt.Sprintf("--header-file: line %d", n+1)); err != nil {
			return err
		}
	}
	return nil
}

// addHeaders adds the values of the flag --header.
func addHeaders(form url.Values, values []string) error {
	for n, v := range values {
		if err := addHeader(form, v, fmt.Sprintf("--header: value %d", n+1)); err != nil {
			return err
		}
	}
	return nil
}

// addHeader adds a header, which is a name and a value. An error says where the header is
// and does not repeat it, since it may be a secret.
func addHeader(form url.Values, header, where string) error {
	name, value, ok := strings.Cut(header, ":")
	name, value = headersField+"."+strings.TrimSpace(name), strings.TrimSpace(value)
	switch {
	case !ok || name == headersField+"." || value == "":
		return usagef("%s must be a name, a colon and a value, such as X-Shop: main", where)
	case form.Has(name):
		return usagef("%s has the name of an earlier header", where)
	}
	form.Set(name, value)
	return nil
}
