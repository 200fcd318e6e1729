package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// image checks the image layout with its library's reader, and runs the program of this machine's image with nothing around it but the image.
func (m *made) image() error {
	i := slices.IndexFunc(m.names, func(name string) bool { return strings.HasSuffix(name, "_image.oci.tar") })
	if i < 0 {
		return nil
	}
	text, err := m.read(m.names[i])
	if err != nil {
		return err
	}
	entries, err := untar(bytes.NewReader(text))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "cascada-image")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := unfold(filepath.Join(dir, "layout"), entries); err != nil {
		return err
	}
	path, err := layout.FromPath(filepath.Join(dir, "layout"))
	if err != nil {
		return err
	}
	outer, err := path.ImageIndex()
	if err != nil {
		return err
	}
	if err := validate.Index(outer); err != nil {
		return err
	}
	manifest, err := outer.IndexManifest()
	if err != nil {
		return err
	}
	if len(manifest.Manifests) != 1 || manifest.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != m.version {
		return errors.New("it does not name the version")
	}
	index, err := outer.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		return err
	}
	images, err := index.IndexManifest()
	if err != nil {
		return err
	}
	for _, d := range images.Manifests {
		image, err := index.Image(d.Digest)
		if err != nil {
			return err
		}
		if err := m.oneImage(image, d.Platform, filepath.Join(dir, d.Digest.Hex)); err != nil {
			return fmt.Errorf("%s: %w", d.Platform, err)
		}
	}
	return nil
}

// oneImage checks the image of a platform, which it unpacks.
func (m *made) oneImage(image v1.Image, p *v1.Platform, root string) error {
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	c := config.Config
	if config.OS != p.OS || config.Architecture != p.Architecture || c.User != fmt.Sprintf("%d:%d", nobody, nobody) || len(c.Volumes) != 1 || c.Healthcheck == nil {
		return fmt.Errorf("its configuration is %+v", config)
	}
	content := mutate.Extract(image)
	defer content.Close()
	entries, err := untar(content)
	if err != nil {
		return err
	}
	if err := unfold(root, entries); err != nil {
		return err
	}
	if (target{p.OS, p.Architecture}) != host {
		return nil
	}
	run := exec.Command(c.Entrypoint[0], "--version")
	if err := confine(run, root, c); err != nil {
		return err
	}
	return says("cascada "+m.version+" ", run)
}

// confine makes a command run as in a container of an image whose files are in root: it sees nothing else, and is nobody.
func confine(c *exec.Cmd, root string, config v1.Config) error {
	c.Env, c.Dir = config.Env, config.WorkingDir
	c.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	if os.Getuid() == 0 {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		for dir := range config.Volumes {
			if err := os.Chown(filepath.Join(root, dir), nobody, nobody); err != nil {
				return err
			}
		}
		return os.Chmod(filepath.Dir(root), 0o755)
	}
	c.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER // who is not root becomes nobody in a namespace
	c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Getuid(), Size: 1}}
	c.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Getgid(), Size: 1}}
	return nil
}

// unfold writes entries below a directory.
func unfold(dir string, entries []entry) error {
	for _, e := range entries {
		path := filepath.Join(dir, filepath.FromSlash(e.name))
		if !strings.HasPrefix(path, filepath.Clean(dir)+string(filepath.Separator)) {
			return fmt.Errorf("%s leads outside", e.name)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if strings.HasSuffix(e.name, "/") {
			if err := os.Mkdir(path, os.FileMode(e.mode).Perm()); err != nil && !errors.Is(err, os.ErrExist) {
				return err
			}
			continue
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, os.FileMode(e.mode).Perm())
		if err != nil {
			return err
		}
		_, err = io.Copy(f, bytes.NewReader(e.text))
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}
