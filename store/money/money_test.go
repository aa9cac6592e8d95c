package money

import "testing"

// TestDecimal checks amounts of currencies with each number of decimals, and negative ones.
func TestDecimal(t *testing.T) {
	for _, c := range []struct {
		amount         int64
		currency, want string
	}{
		{0, "EUR", "0.00"}, {5, "EUR", "0.05"}, {-5, "EUR", "-0.05"}, {-1250, "EUR", "-12.50"}, {123456, "USD", "1234.56"},
		{5, "JPY", "5"}, {-70, "JPY", "-70"}, {7, "KWD", "0.007"}, {12345, "KWD", "12.345"}, {-1 << 63, "EUR", "-92233720368547758.08"},
	} {
		if got := Decimal(c.amount, c.currency); got != c.want {
			t.Errorf("%d %s is %s, want %s", c.amount, c.currency, got, c.want)
		}
	}
}
