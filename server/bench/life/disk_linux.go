package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// disk is a file system of its own, whose power can be cut: what was not synced is then gone.
type disk struct{ image, dir string }

// newDisk makes the file system and mounts it at a folder. It needs the right to mount, and mkfs.ext4.
func newDisk(dir string) (*disk, error) {
	d := &disk{image: dir + ".img", dir: dir}
	image, err := os.Create(d.image)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(image.Truncate(4<<30), image.Close(), os.Mkdir(dir, 0o700)); err != nil {
		return nil, err
	}
	if err := output(exec.Command("mkfs.ext4", "-q", d.image)); err != nil {
		return nil, err
	}
	return d, d.mount()
}

// mount mounts the file system. By itself it writes its journal every ten minutes, not every five seconds.
func (d *disk) mount() error {
	return output(exec.Command("mount", "-o", "loop,commit=600", d.image, d.dir))
}

// unmount unmounts the file system once nobody uses it.
func (d *disk) unmount() (err error) {
	for range 500 {
		if err = unix.Unmount(d.dir, 0); err != unix.EBUSY {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

// cutPower discards what was not synced. No process may have an open file.
func (d *disk) cutPower() error {
	const shutdown, withoutJournal = 0x8004587d, 2 // EXT4_IOC_SHUTDOWN, EXT4_GOING_FLAGS_NOLOGFLUSH
	root, err := os.Open(d.dir)
	if err != nil {
		return err
	}
	err = unix.IoctlSetPointerInt(int(root.Fd()), shutdown, withoutJournal)
	return errors.Join(err, root.Close(), d.unmount(), d.mount())
}

// close puts a copy of the files in the place of the file system.
func (d *disk) close() error {
	copied := d.dir + ".copy"
	err := errors.Join(os.CopyFS(copied, os.DirFS(d.dir)), os.RemoveAll(filepath.Join(copied, "lost+found")), d.unmount(),
		os.Remove(d.image))
	return errors.Join(err, os.Remove(d.dir), os.Rename(copied, d.dir))
}
