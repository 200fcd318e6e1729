package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// nobody is the user of the image: the number that images without root have agreed on.
const nobody = 65532

// image writes an OCI image layout with an image for each architecture of Linux, as one archive.
func (r *release) image() error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	found := false
	for _, t := range r.targets {
		p, ok := r.built[file{"cascada", t}]
		if !ok || t.os != "linux" {
			continue
		}
		found = true
		image, err := r.imageFor(t, p)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: t.os, Architecture: t.arch}}})
	}
	if !found {
		return nil
	}
	index = mutate.Annotations(index, r.annotations()).(v1.ImageIndex)
	dir, err := os.MkdirTemp("", "cascada-image")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	// The first name is for skopeo and podman, the second for containerd and Docker.
	names := map[string]string{"org.opencontainers.image.ref.name": r.version, "io.containerd.image.name": "docker.io/library/cascada:" + r.version}
	if err := path.AppendIndex(index, layout.WithAnnotations(names)); err != nil {
		return err
	}
	var entries []entry
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		entries = append(entries, entry{name: filepath.ToSlash(name), mode: 0o644, text: text})
		return err
	})
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	if err := writeTar(&packed, r.time, entries); err != nil {
		return err
	}
	return r.write(r.imageName(), packed.Bytes())
}

func (r *release) imageName() string { return "cascada_" + r.version + "_image.oci.tar" }

// annotations describe an image to a registry.
func (r *release) annotations() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "cascada",
		"org.opencontainers.image.description": "payment orchestration for Latin America",
		"org.opencontainers.image.version":     r.version,
		"org.opencontainers.image.revision":    r.commit,
		"org.opencontainers.image.created":     r.time.Format(time.RFC3339),
		"org.opencontainers.image.licenses":    "Apache-2.0",
	}
}

// imageFor returns the image for one architecture. The program is static, and has Mozilla's certificate authorities and the time zones in
// it, so nothing else of a system is needed.
func (r *release) imageFor(t target, p program) (v1.Image, error) {
	text, err := os.ReadFile(p.path)
	if err != nil {
		return nil, err
	}
	terms, err := os.ReadFile(r.path("LICENSE"))
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	if err := writeTarGz(&packed, r.time, r.level, []entry{
		{name: "usr/bin/cascada", mode: 0o755, text: text},
		{name: "usr/share/doc/cascada/copyright", mode: 0o644, text: terms},
		{name: "usr/share/doc/cascada/THIRD-PARTY-LICENSES.txt", mode: 0o644, text: p.licences},
		{name: "etc/passwd", mode: 0o644, text: fmt.Appendf(nil, "cascada:x:%d:%d::/data:/sbin/nologin\n", nobody, nobody)},
		{name: "etc/group", mode: 0o644, text: fmt.Appendf(nil, "cascada:x:%d:\n", nobody)},
		{name: "data/", mode: 0o700, uid: nobody}, // a new volume gets its owner from here
	}); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	created := v1.Time{Time: r.time}
	image, err := mutate.Append(base, mutate.Addendum{Layer: layer, History: v1.History{Created: created, CreatedBy: "cascada " + r.version + ", commit " + r.commit}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = t.os, t.arch, created
	config.Config = v1.Config{
		User:         fmt.Sprintf("%d:%d", nobody, nobody),
		WorkingDir:   "/data",
		Env:          []string{"CASCADA_LISTEN=0.0.0.0:8080", "CASCADA_DEMO=false", "TMPDIR=/data"},
		Volumes:      map[string]struct{}{"/data": {}},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		StopSignal:   "SIGTERM",
		Entrypoint:   []string{"/usr/bin/cascada"},
		Cmd:          []string{"serve"},
		Labels:       r.annotations(),
		Healthcheck:  &v1.HealthConfig{Test: []string{"CMD", "/usr/bin/cascada", "health"}, Interval: 10 * time.Second, Timeout: 6 * time.Second, StartPeriod: time.Minute, Retries: 3},
	}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, err
	}
	return mutate.Annotations(image, r.annotations()).(v1.Image), nil
}
