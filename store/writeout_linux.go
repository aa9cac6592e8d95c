package store

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// slice is how many bytes are given to the disk at once: a few milliseconds'
	// worth, which is how long the sync of another file can stand behind them.
	slice = 4 << 20
	// sliceLook is how often the size of a growing file is looked at.
	sliceLook = 20 * time.Millisecond
)

// writeOut gives a file to the disk slice by slice while SQLite, in this
// process, fills it from its beginning. The sync at the end then has little left
// to write. A sync of the whole file would keep the disk from the one of the
// log of a server beside, for as long as it takes. A disk that fails is an
// error of done, which ends it and must be called, and is told whether the file
// is whole: else what remains of it is not worth writing.
//
// Whoever closes f must know that it drops all of SQLite's locks on the file in
// this process. A file that is being made has no other users.
func writeOut(f *os.File) (done func(whole bool) error) {
	end, failed := make(chan bool, 1), make(chan error, 1)
	go func() {
		look := time.NewTicker(sliceLook)
		defer look.Stop()
		var at int64
		var err error
		for ended, whole := false, false; err == nil && !ended; {
			select {
			case whole = <-end:
				if ended = true; !whole {
					continue
				}
			case <-look.C:
			}
			at, err = writeSlices(f, at, whole)
		}
		failed <- err
	}()
	return func(whole bool) error {
		end <- whole
		return <-failed
	}
}

// writeSlices gives what lies behind the offset at to the disk, and returns how
// far it came; a slice that is not full only when the file is whole.
func writeSlices(f *os.File, at int64, whole bool) (int64, error) {
	info, err := f.Stat()
	for ; err == nil && (info.Size()-at >= slice || whole && info.Size() > at); at += slice {
		err = unix.SyncFileRange(int(f.Fd()), at, slice, unix.SYNC_FILE_RANGE_WAIT_BEFORE|unix.SYNC_FILE_RANGE_WRITE|unix.SYNC_FILE_RANGE_WAIT_AFTER)
		if err == unix.ENOSYS || err == unix.EINVAL || err == unix.ESPIPE || err == unix.EPERM { // then the sync at the end does it all
			err = nil
		}
	}
	return at, err
}
