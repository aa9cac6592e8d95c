package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// year is what the driver wrote: year.json, and the files of JSON lines beside it.
type year struct {
	folder    string
	Shops     []shop     `json:"shops"`
	Receivers []receiver `json:"receivers"`

	answers map[string][]answer // by shop
	figures map[string][]figure // by shop, in the order of time
	phones  []screen
	pages   []screen
	erased  []erasure
}

type shop struct {
	ID      string  `json:"id"`
	Zones   []zone  `json:"zones"`
	Export  *string `json:"export"`
	Watched bool    `json:"watched"`
}

// zone is the time zone that a shop has from a time on.
type zone struct {
	From time.Time `json:"from"`
	Zone string    `json:"zone"`
}

// receiver is a webhook and the file of the requests that it received.
type receiver struct {
	Name    string   `json:"name"`
	File    string   `json:"file"`
	Shop    string   `json:"shop"`
	Program *string  `json:"program"`
	Events  []string `json:"events"`
	Secrets []string `json:"secrets"`
	// Lost are times at which the webhook had a secret that nobody was shown. May be absent.
	Lost    []time.Time `json:"lost"`
	Version int         `json:"version"`
	From    time.Time   `json:"from"`
	Until   *time.Time  `json:"until"`
	Kind    string      `json:"kind"`
}

// answer is a change that a client asked for and that was answered with success.
type answer struct {
	At       time.Time  `json:"at"`
	Shop     string     `json:"shop"`
	Face     string     `json:"face"`
	Kind     string     `json:"kind"`
	Card     string     `json:"card"`
	Rows     []answered `json:"rows"`
	Reverses *string    `json:"reverses"`
	Issued   *issued    `json:"issued"`
	Occurred *time.Time `json:"occurred_at"`
	// Subject is the instance that was changed, if it is a younger card of Card. May be absent.
	Subject string `json:"subject"`
	// Expires is the new end of validity, where the request set one. May be absent.
	Expires json.RawMessage `json:"expires_at"`
}

// answered is a row of the ledger in an answer.
type answered struct {
	ID       string    `json:"id"`
	Card     string    `json:"card_id"`
	Program  string    `json:"program_id"`
	Type     string    `json:"type"`
	Location string    `json:"location_id"`
	Stamps   *int64    `json:"stamps_delta"`
	Value    *int64    `json:"value_delta"`
	Prize    *string   `json:"prize_id"`
	Created  time.Time `json:"created_at"`
}

// issued is a new card in an answer. Claimed are the thresholds that an import says were redeemed.
type issued struct {
	ID      string  `json:"id"`
	Program string  `json:"program_id"`
	Stamps  *int64  `json:"stamps"`
	Value   *int64  `json:"value"`
	Claimed []int64 `json:"claimed"`
}

// figure is an answer or a page with figures.
type figure struct {
	Shop string          `json:"shop"`
	At   time.Time       `json:"at"`
	What string          `json:"what"`
	Path string          `json:"path"`
	Body json.RawMessage `json:"body"`
}

// screen is what a phone or an open page shows of a card.
type screen struct {
	Card     string            `json:"card"`
	Platform string            `json:"platform"`
	Gone     bool              `json:"gone"`
	Shows    map[string]string `json:"shows"`
	Stamps   *int64            `json:"stamps"`
	Cents    *int64            `json:"cents"`
}

type erasure struct {
	Card  string   `json:"card"`
	Words []string `json:"words"`
}

// readYear reads all files of a folder but the exports and the logs of the receivers.
func readYear(folder string) (*year, error) {
	y := &year{folder: folder, answers: map[string][]answer{}, figures: map[string][]figure{}}
	if err := readJSON(filepath.Join(folder, "year.json"), y); err != nil {
		return nil, err
	}
	err := errors.Join(
		lines(folder, "answers.jsonl", func(a answer) { y.answers[a.Shop] = append(y.answers[a.Shop], a) }),
		lines(folder, "figures.jsonl", func(f figure) { y.figures[f.Shop] = append(y.figures[f.Shop], f) }),
		lines(folder, "phones.jsonl", func(s screen) { y.phones = append(y.phones, s) }),
		lines(folder, "pages.jsonl", func(s screen) { y.pages = append(y.pages, s) }),
		lines(folder, "erased.jsonl", func(e erasure) { y.erased = append(y.erased, e) }),
	)
	for _, list := range y.figures {
		slices.SortStableFunc(list, func(a, b figure) int { return a.At.Compare(b.At) })
	}
	return y, err
}

func readJSON(path string, into any) error {
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// lines calls f with each line of a file of JSON lines.
func lines[T any](folder, name string, f func(T)) error {
	path := filepath.Join(folder, name)
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, 1<<20)
	for n := 1; ; n++ {
		line, err := readLine(in)
		if err != nil && err != io.EOF {
			return fmt.Errorf("%s: %w", path, err)
		}
		if len(line) > 0 {
			var v T
			if err := json.Unmarshal(line, &v); err != nil {
				return fmt.Errorf("%s:%d: %w", path, n, err)
			}
			f(v)
		}
		if err == io.EOF {
			return nil
		}
	}
}

// readLine returns the next line without its end. It is valid until the next call.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		long := slices.Clone(line)
		line, err = in.ReadBytes('\n')
		line = append(long, line...)
	}
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	return line, err
}
