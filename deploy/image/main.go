// Command image makes container images of the archives for Linux. The same archives, commit and
// version of Go give the same bytes. It is a module of its own, since the server uses none of its packages.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	repository = "example.com/punchcard"
	user       = 65532
)

// release is what the images of a version have in common.
type release struct {
	dist    string // the folder of the archives and images
	version string
	commit  string
	time    time.Time // of the commit
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// run makes an image of each archive that is there.
func run(args []string) error {
	if len(args) != 4 {
		return errors.New("the arguments are DIST VERSION COMMIT SECONDS")
	}
	seconds, err := strconv.ParseInt(args[3], 10, 64)
	if err != nil {
		return err
	}
	r := release{dist: args[0], version: args[1], commit: args[2], time: time.Unix(seconds, 0).UTC()}
	made := 0
	for _, arch := range []string{"amd64", "arm64"} {
		switch err := r.image(arch); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		default:
			made++
		}
	}
	if made == 0 {
		return fmt.Errorf("%s has no archive punchcard_%s_linux_amd64.tar.gz or punchcard_%s_linux_arm64.tar.gz", r.dist, r.version,
			r.version)
	}
	return nil
}

// image writes the image for an architecture to a file in the format of "docker save".
func (r *release) image(arch string) error {
	archive := fmt.Sprintf("punchcard_%s_linux_%s", r.version, arch)
	files, err := readArchive(filepath.Join(r.dist, archive+".tar.gz"), archive)
	if err != nil {
		return err
	}
	tag, err := name.NewTag(repository+":"+r.version, name.StrictValidation)
	if err != nil {
		return err
	}
	content, err := r.layer(files)
	if err != nil {
		return err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	layer, err := tarball.LayerFromOpener(open, tarball.WithCompressionLevel(gzip.DefaultCompression), tarball.WithCompressedCaching)
	if err != nil {
		return err
	}
	image, err := mutate.ConfigFile(empty.Image, r.config(arch))
	if err != nil {
		return err
	}
	history := v1.History{Created: v1.Time{Time: r.time}, CreatedBy: "deploy/image/build"}
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: history})
	if err != nil {
		return err
	}
	out := filepath.Join(r.dist, fmt.Sprintf("image-%s-linux_%s.tar", r.version, arch))
	if err := tarball.WriteToFile(out, tag, image); err != nil {
		return errors.Join(err, os.Remove(out))
	}
	fmt.Println(out)
	return nil
}

// config returns how an engine runs the image.
func (r *release) config(arch string) *v1.ConfigFile {
	return &v1.ConfigFile{
		OS:           "linux",
		Architecture: arch,
		Created:      v1.Time{Time: r.time},
		RootFS:       v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User:         fmt.Sprintf("%d:%d", user, user),
			WorkingDir:   "/data",
			Volumes:      map[string]struct{}{"/data": {}},
			ExposedPorts: map[string]struct{}{"8080/tcp": {}},
			Env:          []string{"PUNCHCARD_DB=/data/shop.db", "PUNCHCARD_LISTEN=0.0.0.0:8080", "GODEBUG=clobberfree=1"},
			Entrypoint:   []string{"/punchcard"},
			Cmd:          []string{"serve"},
			// The command finds the address and the certificate in the variables of the server.
			Healthcheck: &v1.HealthConfig{
				Test:        []string{"CMD", "/punchcard", "healthcheck"},
				Interval:    30 * time.Second,
				Timeout:     5 * time.Second,
				StartPeriod: 30 * time.Second,
			},
			Labels: map[string]string{
				"org.opencontainers.image.title":    "punchcard",
				"org.opencontainers.image.version":  r.version,
				"org.opencontainers.image.revision": r.commit,
				"org.opencontainers.image.licenses": "MIT",
			},
		},
	}
}

// file is a file from an archive.
type file struct {
	name    string
	content []byte
}

// readArchive returns the binary and the licenses in the folder of an archive, in their order there.
func readArchive(at, folder string) (files []file, err error) {
	f, err := os.Open(at)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	uncompressed, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	binary := false
	for t := tar.NewReader(uncompressed); ; {
		h, err := t.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		base, inside := strings.CutPrefix(path.Clean(h.Name), folder+"/")
		if !inside || h.Typeflag != tar.TypeReg || base != "punchcard" && !strings.HasPrefix(base, "LICENSE") {
			continue
		}
		content, err := io.ReadAll(t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		binary = binary || base == "punchcard"
		files = append(files, file{base, content})
	}
	if !binary {
		return nil, fmt.Errorf("%s has no file %s/punchcard", at, folder)
	}
	return files, nil
}

// layer returns the files of the image as a tar file.
func (r *release) layer(files []file) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	var failed error
	add := func(name string, mode int64, owner int, content []byte) {
		h := &tar.Header{Name: name, Mode: mode, Uid: owner, Gid: owner, Size: int64(len(content)), ModTime: r.time, Typeflag: tar.TypeReg}
		if strings.HasSuffix(name, "/") {
			h.Typeflag = tar.TypeDir
		}
		failed = errors.Join(failed, w.WriteHeader(h))
		_, err := w.Write(content)
		failed = errors.Join(failed, err)
	}
	add("data/", 0o700, user, nil)
	add("etc/", 0o755, 0, nil)
	add("etc/group", 0o644, 0, fmt.Appendf(nil, "root:x:0:\npunchcard:x:%d:\n", user))
	add("etc/passwd", 0o644, 0, fmt.Appendf(nil,
		"root:x:0:0:root:/:/sbin/nologin\npunchcard:x:%d:%d:punchcard:/data:/sbin/nologin\n", user, user))
	add("etc/ssl/", 0o755, 0, nil)
	add("etc/ssl/certs/", 0o755, 0, nil)
	add("etc/ssl/certs/ca-certificates.crt", 0o644, 0, roots())
	add("licenses/", 0o755, 0, nil)
	add("tmp/", 0o1777, 0, nil) // where dev keeps its file
	for _, f := range files {
		if f.name == "punchcard" {
			add(f.name, 0o755, 0, f.content)
		} else {
			add("licenses/"+f.name, 0o644, 0, f.content)
		}
	}
	failed = errors.Join(failed, w.Close())
	return out.Bytes(), failed
}

// roots returns the certificates of Mozilla's CAs, by which receivers of webhooks are verified. It leaves
// out those that are trusted only for certificates of before some day, which the file cannot say.
func roots() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a Buffer takes everything
		}
	}
	return out.Bytes()
}
