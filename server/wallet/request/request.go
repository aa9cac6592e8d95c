// Package request makes requests of the services that show copies of cards.
package request

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	timeout   = 10 * time.Second // of a request
	maxAnswer = 64 << 10         // bytes of an answer that are read
)

// Send makes a request, and returns the answer with its body, as far as that is read. It follows no redirect. Its errors do not have
// the path of the target, which may be secret.
func Send(ctx context.Context, t http.RoundTripper, method, target string, header http.Header, body []byte) (*http.Response, []byte,
	error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return nil, nil, errors.New("the URL of the service cannot be read")
	}
	req.Header = header
	resp, err := t.RoundTrip(req)
	if err != nil {
		return nil, nil, fmt.Errorf("%s cannot be reached: %w", req.URL.Host, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, nil, fmt.Errorf("the answer of %s did not arrive whole: %w", req.URL.Host, err)
	}
	return resp, answer, nil
}
