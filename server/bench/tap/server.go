//go:build browser

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path"
	"time"

	"punchcard/store"
)

// build builds the binary with the go command.
func build(ctx context.Context, path string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "punchcard")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// A server is "punchcard dev" as a process, on a file of its own.
type server struct {
	binary, db string
	cmd        *exec.Cmd
	program    string
	Origin     string `json:"origin"`
	BaseURL    string `json:"base_url"`
	APIKey     string `json:"api_key"`
	TillToken  string `json:"till_token"`
}

// startServer starts dev and makes a program with a hundred stamps.
func startServer(binary, db string) (*server, error) {
	s := &server{binary: binary, db: db, cmd: exec.Command(binary, "dev", "--db", db, "--listen", "127.0.0.1:0")}
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, s)
	}
	var made struct{ ID string }
	if err == nil {
		err = s.post(s.BaseURL+"/programs", s.APIKey, map[string]any{
			"type": "standard", "name": "Coffee", "icon_key": "coffee", "total_stamps": 100, "repeat_after_reset": true,
		}, &made)
	}
	if err == nil {
		s.program = made.ID
		err = s.post(s.BaseURL+"/programs/"+made.ID+"/publish", s.APIKey, nil, nil)
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *server) stop() {
	s.cmd.Process.Kill()
	s.cmd.Wait()
}

// post posts a body, and keeps the answer in out unless that is nil.
func (s *server) post(url, token string, body, out any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	if body == nil {
		raw = nil
	}
	r, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= 300 {
		err = fmt.Errorf("%s: %d %s", url, answer.StatusCode, content)
	}
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(content, out)
}

// issue issues a card, and returns its id, which the demo till takes as a code, and the URL of its page.
func (s *server) issue() (card, page string, err error) {
	var made struct {
		ID         string
		InstallURL string `json:"install_url"`
	}
	if err := s.post(s.BaseURL+"/programs/"+s.program+"/cards", s.APIKey, map[string]any{"holder_name": "Ada Lovelace"},
		&made); err != nil {
		return "", "", err
	}
	st, err := store.Open(s.db, store.Options{MustExist: true})
	if err != nil {
		return "", "", err
	}
	defer st.Close()
	err = st.View(0, func(v *store.View) error {
		h, err := v.HolderCard(path.Base(made.InstallURL))
		page = s.Origin + "/c/" + h.PageToken
		return err
	})
	return made.ID, page, err
}

// stampMeanwhile gives stamps to two hundred cards at a rate until the server is stopped.
func (s *server) stampMeanwhile(rate int) error {
	var cards []string
	for range 200 {
		card, _, err := s.issue()
		if err != nil {
			return err
		}
		cards = append(cards, card)
	}
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 64
	due := make(chan string, 64)
	for range 16 {
		go func() {
			for card := range due {
				// The server is killed at the end, and cards get full meanwhile.
				_ = s.post(s.Origin+"/till/v1/cards/"+card+"/stamps", s.TillToken, map[string]any{"count": 1}, nil)
			}
		}()
	}
	go func() {
		begin := time.Now()
		for n := 0; ; time.Sleep(time.Millisecond) {
			for ; n < int(time.Since(begin).Seconds()*float64(rate)); n++ {
				due <- cards[n%len(cards)]
			}
		}
	}()
	return nil
}
