package bench

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// sample is the measurements of the machine at one end of the window, from Linux's /proc;
// elsewhere only the generator's own part is set.
type sample struct {
	generator  time.Duration // CPU of this process
	server     time.Duration // CPU of the server process
	rss        int64         // its resident memory in bytes
	busy, idle time.Duration // of all CPUs of the machine
	wal        int64
}

func readSample(ctx context.Context, c Config) (s sample, err error) {
	if s.generator, err = processorTime(); err != nil {
		return s, fmt.Errorf("read our own CPU time: %w", err)
	}
	s.busy, s.idle = machine()
	if c.ServerPID > 0 {
		if s.server, err = cpu(c.ServerPID); err != nil {
			return s, err
		}
		if s.rss, err = resident(c.ServerPID); err != nil {
			return s, err
		}
	}
	if c.WAL != nil {
		if s.wal, err = c.WAL(ctx); err != nil {
			return s, fmt.Errorf("read the position in the WAL: %w", err)
		}
	}
	return s, nil
}

// tick is the unit of CPU time in /proc: 1/100 s on every Linux we know.
const tick = 10 * time.Millisecond

// cpu is the CPU time of a process, of user and system.
func cpu(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read the server's CPU time: %w", err)
	}
	// The name, in parentheses, may contain spaces, so fields are counted after it.
	_, after, _ := bytes.Cut(text[bytes.LastIndexByte(text, ')')+1:], []byte(" "))
	fields := strings.Fields(string(after))
	const utime, stime = 14 - 3, 15 - 3 // numbered from 1, of which two are cut off
	if len(fields) <= stime {
		return 0, fmt.Errorf("read the server's CPU time: /proc/%d/stat is not as we know it", pid)
	}
	var total time.Duration
	for _, field := range []string{fields[utime], fields[stime]} {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the server's CPU time: %w", err)
		}
		total += time.Duration(ticks) * tick
	}
	return total, nil
}

// resident is the memory of a process.
func resident(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("read the server's memory: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		value, ok := strings.CutPrefix(line, "VmRSS:")
		if !ok {
			continue
		}
		kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the server's memory: %w", err)
		}
		return kb << 10, nil
	}
	return 0, fmt.Errorf("read the server's memory: process %d has none", pid)
}

// machine is how long all CPUs were busy and idle since the start; zero if /proc has no
// data.
func machine() (busy, idle time.Duration) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	// cpu user nice system idle iowait irq softirq steal; guest is in user.
	for i, field := range strings.Fields(line) {
		ticks, err := strconv.ParseInt(field, 10, 64)
		switch {
		case err != nil || i > 8:
		case i == 4 || i == 5:
			idle += time.Duration(ticks) * tick
		default:
			busy += time.Duration(ticks) * tick
		}
	}
	return busy, idle
}

// build names the program of a process: its version, revision and Go. "" if it cannot be
// read.
func build(pid int) string {
	if pid <= 0 {
		return ""
	}
	info, err := buildinfo.ReadFile(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return ""
	}
	name := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && !strings.Contains(name, s.Value[:min(12, len(s.Value))]) {
			name += " " + s.Value[:min(12, len(s.Value))]
		}
	}
	return name + " " + info.GoVersion
}
