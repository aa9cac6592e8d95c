package servertest

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"time"

	"punchcard/server/servertest/require"
)

// TOTP returns the code that an authenticator with a secret shows at a time.
func TOTP(secret string, at time.Time) string {
	key := require.Must(base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret))
	mac := hmac.New(sha1.New, key)
	binary.Write(mac, binary.BigEndian, at.Unix()/30)
	sum := mac.Sum(nil)
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[sum[19]&15:])&0x7fffffff%1_000_000)
}
