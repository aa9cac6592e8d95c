package operation_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
	"punchcard/store/password"
)

// TestPreparedBeforeWrite checks that the fields of an operation are prepared before its
// transaction, that is, also while another write keeps the store's writer busy. The hash of a new
// staff PIN is such work: the store takes only PINs that are hashed.
func TestPreparedBeforeWrite(t *testing.T) {
	h := openHarness(t)
	prepared, begun := make(chan struct{}), make(chan struct{})
	op := kernel.NewOperation(kernel.Operation{
		ID:      "prepared",
		Callers: kernel.Callers{Person: kernel.Manager},
		Prepare: kernel.Prepare(
			func(_ context.Context, _ *kernel.Call, f operation.StaffPINFields) (kernel.Prepared[string], error) {
				close(prepared)
				return func(*store.Tx) (string, error) { return f.StaffPIN.V + " hashed", nil }, nil
			},
		),
	})
	busy := make(chan error)
	go func() {
		busy <- h.st.Write(t.Context(), store.Write{Actor: store.Actor{Type: "system"}, Do: func(*store.Tx) error {
			close(begun)
			select {
			case <-prepared:
			case <-time.After(time.Minute):
				t.Error("the fields are not prepared before the writer is free")
			}
			return nil
		}})
	}()
	<-begun
	out, err := kernel.Do[string](
		t.Context(), h.Kernel,
		h.withRole(kernel.Manager),
		op,
		kernel.Args{Fields: operation.StaffPINFields{StaffPIN: store.Given("2468")}},
	)
	if err != nil || out != "2468 hashed" {
		t.Errorf("%q, %v", out, err)
	}
	if err := <-busy; err != nil {
		t.Error(err)
	}
}

// TestPINIsHashedBeforeWrite checks that the operations that set a staff PIN hash it
// before their transaction: they have allocated the memory of the hash when their
// write waits for the store's writer, which another write keeps busy.
func TestPINIsHashedBeforeWrite(t *testing.T) {
	t.Run("alone", func(t *testing.T) { // since it counts what the process allocates
		defer func(before uint32) { password.Memory = before }(password.Memory)
		password.Memory = 8 << 10
		testPINIsHashedBeforeWrite(t)
	})
}

func testPINIsHashedBeforeWrite(t *testing.T) {
	h := openHarness(t)
	pin := store.Given("2468")
	location := store.LocationPatch{
		Name:        store.Given("North"),
		Address:     store.Given("Via Po 1"),
		City:        store.Given("Torino"),
		PostalCode:  store.Given("10124"),
		CountryCode: store.Given("IT"),
	}
	for _, c := range []struct {
		op   *kernel.Operation
		args kernel.Args
	}{
		{operation.SetStaffPIN, args(h.LocationIDs[0], operation.StaffPINFields{StaffPIN: pin})},
		{operation.CreateLocation, args("", store.LocationFields{LocationPatch: location, StaffPIN: pin})},
	} {
		begun, release, done := make(chan struct{}), make(chan struct{}), make(chan error)
		go func() {
			done <- h.st.Write(t.Context(), store.Write{Actor: store.Actor{Type: "system"}, Do: func(*store.Tx) error {
				close(begun)
				<-release
				return nil
			}})
		}()
		<-begun
		before := allocated()
		go func() {
			_, err := h.Invoke(t.Context(), h.withRole(kernel.Owner), c.op, c.args)
			done <- err
		}()
		for deadline := time.Now().Add(time.Minute); h.st.QueuedWrites() == 0 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		if n := allocated() - before; h.st.QueuedWrites() != 1 || n < 8<<20 {
			t.Errorf("%s: %d writes wait after %d bytes were allocated, which are too few for the hash", c.op.ID, h.st.QueuedWrites(), n)
		}
		close(release)
		for range 2 {
			if err := <-done; err != nil {
				t.Errorf("%s: %v", c.op.ID, err)
			}
		}
	}
}

// allocated returns the bytes that this process has allocated since its start.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
