package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// installer installs the programs for this machine from a server that has only the release, as a user with an empty home.
func (m *made) installer() error {
	f := file{"cascada", host}
	if !slices.Contains(m.names, fmt.Sprintf("%s_%s_%s_%s.tar.gz", f.program, m.version, host.os, host.arch)) {
		return nil // a release for other systems
	}
	home, err := os.MkdirTemp("", "cascada-home")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	url, stop, err := serve(m.dir)
	if err != nil {
		return err
	}
	defer stop()
	c := exec.Command("sh", m.path("install.sh"), "--from", url, "cascada", "cascada-cli")
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("install.sh: %w\n%s", err, out)
	}
	for _, p := range programs {
		if err := says(p+" "+m.version+" ", exec.Command(filepath.Join(home, ".local/bin", p), "--version")); err != nil {
			return err
		}
	}
	return nil
}

// serve serves a directory on this machine until it is stopped.
func serve(dir string) (url string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	s := &http.Server{Handler: http.FileServer(http.Dir(dir))}
	go func() { _ = s.Serve(l) }() // until it is closed
	return "http://" + l.Addr().String(), func() { _ = s.Close() }, nil
}
