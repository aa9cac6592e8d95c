// A receiver of webhooks: WEBHOOK_SECRET=whsec_… go run verify.go
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// genuine tells whether the header was made with the secret for these bytes,
// and not more than five minutes ago.
func genuine(secret, header string, body []byte) bool {
	t, signature, _ := strings.Cut(strings.TrimPrefix(header, "t="), ",v1=")
	seconds, err := strconv.ParseInt(t, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(t + "."))
	mac.Write(body)
	return hmac.Equal([]byte(signature), []byte(hex.EncodeToString(mac.Sum(nil)))) // in constant time
}

// newest is the highest X-Service-Sequence of each card so far. Keep it with your copy
// of the card, and change both in one transaction.
var (
	mu     sync.Mutex
	newest = map[string]int64{}
)

// late tells whether a newer event of the card came before, so that this one, a retry,
// must not change what is known of the card. It remembers the sequence otherwise.
func late(card string, sequence int64) bool {
	mu.Lock()
	defer mu.Unlock()
	if card == "" || sequence >= newest[card] {
		newest[card] = sequence
		return false
	}
	return true
}

func receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20)) // the bytes as they came: parse them later
	if err != nil || !genuine(os.Getenv("WEBHOOK_SECRET"), r.Header.Get("X-Service-Signature"), body) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	var e struct {
		Event   string
		EventID string `json:"event_id"`
		Data    struct {
			Card string `json:"card_instance_id"`
		}
	}
	json.Unmarshal(body, &e)
	fmt.Println(e.Event, e.EventID) // seen this event_id before? then it is a repeat
	sequence, _ := strconv.ParseInt(r.Header.Get("X-Service-Sequence"), 10, 64)
	if late(e.Data.Card, sequence) {
		fmt.Println("late", e.EventID)
	}
	w.WriteHeader(http.StatusNoContent)
}

func main() {
	port := os.Getenv("PORT")
	if port == "" {
		port = "9000"
	}
	ln, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", ln.Addr())
	log.Fatal(http.Serve(ln, http.HandlerFunc(receive)))
}
