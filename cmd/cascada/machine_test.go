package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// machine is a separate machine for a test: this machine's systemd as process 1 in namespaces, over a copy of
// this machine's files in memory (testdata/machine.sh).
type machine struct {
	t      testing.TB
	shared string // the machine's /shared
	first  string // the id of its process 1 on the outside
}

// bootMachine needs root and a kernel with overlays and cgroups of version 2; without these rights it
// skips the test.
func bootMachine(t testing.TB) *machine {
	t.Helper()
	if os.Getuid() != 0 || exec.Command("unshare", "--mount", "--pid", "--fork", "--cgroup", "true").Run() != nil {
		t.Skip("a separate machine needs root, and the right to create namespaces")
	}
	dir, err := os.MkdirTemp("/tmp", "cascada-machine")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // leftovers are harmless
	group := newGroup(t)
	script, err := filepath.Abs("testdata/machine.sh")
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("sh", "-c", `echo $$ >"$1/cgroup.procs" && exec unshare --mount --pid --fork --uts --ipc --cgroup --kill-child "$2" "$3"`,
		"sh", group, script, dir)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	started, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // the machine ends with the thread that started it
		defer close(ended)
		err := c.Start()
		started <- err
		if err == nil {
			_ = c.Wait() // it is killed
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill() // that ends its process 1, and so all others
		<-ended
		await(t, "the machine to end", func() bool { return emptyGroup(group) })
	})
	m := &machine{t: t, shared: filepath.Join(dir, "shared")}
	await(t, "the machine to boot", func() bool {
		select {
		case <-ended:
			t.Fatalf("the machine ended by itself: %s", out.String())
		default:
		}
		children, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", c.Process.Pid))
		m.first = strings.TrimSpace(string(children))
		if err != nil || m.first == "" {
			return false
		}
		text, _ := m.try("systemctl", "is-system-running")
		return strings.TrimSpace(text) == "running"
	})
	return m
}

// newGroup creates a cgroup. The machine sees no other cgroup.
func newGroup(t testing.TB) string {
	t.Helper()
	for _, root := range []string{"/sys/fs/cgroup/unified", "/sys/fs/cgroup"} {
		if _, err := os.Stat(filepath.Join(root, "cgroup.procs")); err != nil {
			continue
		}
		group, err := os.MkdirTemp(root, "cascada-machine")
		if errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EACCES) {
			t.Skip("a separate machine needs the right to create cgroups")
		}
		if err != nil {
			t.Fatal(err)
		}
		return group
	}
	t.Skip("a separate machine needs cgroups of version 2")
	return ""
}

// emptyGroup removes a cgroup with its children, and reports whether it is gone.
func emptyGroup(group string) bool {
	entries, err := os.ReadDir(group)
	for _, e := range entries {
		if e.IsDir() {
			emptyGroup(filepath.Join(group, e.Name()))
		}
	}
	return errors.Is(err, os.ErrNotExist) || os.Remove(group) == nil
}

// try runs a command on the machine, as root.
func (m *machine) try(args ...string) (out string, err error) {
	c := exec.Command("nsenter", append([]string{"-t", m.first, "-m", "-p", "-u", "-i", "-C"}, args...)...)
	c.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"}
	text, err := c.CombinedOutput()
	return string(text), err
}

// does runs a command that must succeed.
func (m *machine) does(args ...string) string {
	m.t.Helper()
	out, err := m.try(args...)
	if err != nil {
		log, _ := m.try("journalctl", "--no-pager", "-n", "30")
		m.t.Fatalf("%s: %v\n%s\n%s", strings.Join(args, " "), err, out, log)
	}
	return out
}

// has reports whether a path exists.
func (m *machine) has(path string) bool {
	_, err := m.try("test", "-e", path)
	return err == nil
}
