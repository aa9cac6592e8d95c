package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// module is a part of the binaries: a Go module, Go's standard library or the decoder of QR
// codes.
type module struct {
	path, version string
	purl          string
	licenses      []string // files with the texts
	needs         map[string]bool
}

// own is the path of our own module, and std stands for the standard library.
const own, std = "punchcard", "std"

// readModules returns the parts of the binaries of all targets by path.
func (r *release) readModules(sources string) (map[string]*module, error) {
	version := strings.TrimPrefix(runtime.Version(), "go")
	root, err := output("go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	modules := map[string]*module{
		own: {path: own, version: r.version, purl: "pkg:golang/punchcard@v" + r.version, needs: map[string]bool{}},
		std: {path: std, version: version, purl: "pkg:golang/std@" + version, licenses: []string{filepath.Join(root, "LICENSE")}, needs: map[string]bool{}},
	}
	for _, target := range r.targets {
		if err := addModules(modules, target, sources); err != nil {
			return nil, err
		}
	}
	decoder := filepath.Join(sources, "server", "tillpage", "vendor")
	readme, err := os.ReadFile(filepath.Join(decoder, "README.md"))
	if err != nil {
		return nil, err
	}
	found := regexp.MustCompile(`(?m)^Version: (\S+)$`).FindSubmatch(readme)
	if found == nil {
		return nil, fmt.Errorf("%s does not name the version", decoder)
	}
	modules["zxing-wasm"] = &module{path: "zxing-wasm", version: string(found[1]), purl: "pkg:npm/zxing-wasm@" + string(found[1]),
		licenses: []string{filepath.Join(decoder, "LICENSE-zxing-wasm"), filepath.Join(decoder, "LICENSE-zxing-cpp")}}
	modules[own].needs["zxing-wasm"] = true
	return modules, nil
}

// addModules adds the modules whose packages are in the binary of a target, and which of them
// need which.
func addModules(modules map[string]*module, target, sources string) error {
	type goPackage struct {
		ImportPath string
		Standard   bool
		Imports    []string
		Module     *struct{ Path, Version, Dir string }
	}
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard,Imports,Module", ".")
	cmd.Dir, cmd.Env, cmd.Stderr = sources, environment(target), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list for %s: %w", target, err)
	}
	home := map[string]string{} // path of the module by package
	d := json.NewDecoder(bytes.NewReader(out))
	for d.More() { // a package comes after those that it imports
		var p goPackage
		if err := d.Decode(&p); err != nil {
			return err
		}
		path := std
		if !p.Standard {
			path = p.Module.Path
		}
		home[p.ImportPath] = path
		if modules[path] == nil {
			m := &module{path: path, version: p.Module.Version, purl: "pkg:golang/" + path + "@" + p.Module.Version, needs: map[string]bool{}}
			if m.licenses, err = licenseFiles(p.Module.Dir); err != nil {
				return err
			}
			modules[path] = m
		}
		for _, imported := range p.Imports {
			if need := home[imported]; need != "" && need != path {
				modules[path].needs[need] = true
			}
		}
	}
	return nil
}

// licenseFiles returns the files of a module that have its license, and the notices that go
// with it.
func licenseFiles(dir string) (files []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	license := false
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || strings.HasSuffix(name, ".GO") {
			continue
		}
		is := strings.HasPrefix(name, "LICENSE") || strings.HasPrefix(name, "LICENCE") || strings.HasPrefix(name, "COPYING")
		if is || strings.HasPrefix(name, "NOTICE") {
			files = append(files, filepath.Join(dir, e.Name()))
		}
		license = license || is
	}
	if !license {
		return nil, fmt.Errorf("%s has no license", dir)
	}
	return files, nil
}

// licenseText returns the licenses of all parts, which must go with the binaries.
func licenseText(modules map[string]*module) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("punchcard contains what follows, under these licenses.\n")
	for _, m := range sorted(modules) {
		for _, path := range m.licenses {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&b, "\n%s\n%s %s: %s\n\n%s\n", strings.Repeat("=", 80), m.path, m.version, filepath.Base(path), bytes.TrimSpace(text))
		}
	}
	return b.Bytes(), nil
}

// sorted returns the parts by path.
func sorted(modules map[string]*module) (list []*module) {
	for _, m := range modules {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b *module) int { return strings.Compare(a.path, b.path) })
	return list
}

// The fields of CycloneDX 1.6 that billOfMaterials sets.
type (
	component struct {
		Type       string     `json:"type"`
		Ref        string     `json:"bom-ref"`
		Name       string     `json:"name"`
		Version    string     `json:"version"`
		PURL       string     `json:"purl"`
		Properties []property `json:"properties,omitempty"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	dependency struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn,omitempty"`
	}
	document struct {
		Format   string `json:"bomFormat"`
		Spec     string `json:"specVersion"`
		Serial   string `json:"serialNumber,omitempty"`
		Version  int    `json:"version"`
		Metadata struct {
			Timestamp string    `json:"timestamp"`
			Component component `json:"component"`
		} `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
)

// billOfMaterials returns the list of what is in the binaries, in the format CycloneDX. Its
// serial number is made of its content, so that the same release has the same.
func (r *release) billOfMaterials(modules map[string]*module) ([]byte, error) {
	d := document{Format: "CycloneDX", Spec: "1.6", Version: 1}
	d.Metadata.Timestamp = r.time.Format(time.RFC3339)
	for _, m := range sorted(modules) {
		c := component{Type: "library", Ref: m.purl, Name: m.path, Version: m.version, PURL: m.purl}
		if m.path == own {
			c.Type = "application"
			c.Properties = []property{{"punchcard:commit", r.commit}}
			d.Metadata.Component = c
		} else {
			d.Components = append(d.Components, c)
		}
		needs := dependency{Ref: m.purl}
		for path := range m.needs {
			needs.DependsOn = append(needs.DependsOn, modules[path].purl)
		}
		slices.Sort(needs.DependsOn)
		d.Dependencies = append(d.Dependencies, needs)
	}
	plain, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(plain)
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // a UUID of version 8, whose content is ours
	d.Serial = fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	return json.MarshalIndent(d, "", "  ")
}
