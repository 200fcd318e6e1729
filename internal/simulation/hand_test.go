package simulation

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"testing"
)

// handKey in the environment turns a process into a hand.
const handKey = "CASCADA_SIMULATION_HAND"

// hand runs one world after the other, in its own process with one processor: worlds in one
// process wait for each other, in the scheduler and within SQLite.
type hand struct {
	run    *exec.Cmd
	seeds  io.WriteCloser
	worlds *bufio.Reader
	said   bytes.Buffer // to standard error
}

// report is a hand's result, as one line.
type report struct {
	Turns    int
	Counts   map[string]int
	Findings [][3]string
	Err      string
}

func newHand() (*hand, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	h := &hand{run: exec.Command(path, "-test.run", "^TestHand$", "-test.timeout", flag.Lookup("test.timeout").Value.String())}
	h.run.Env = append(os.Environ(), handKey+"=1", "GOMAXPROCS=1")
	h.run.Stderr = &h.said
	if h.seeds, err = h.run.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := h.run.StdoutPipe()
	if err != nil {
		return nil, err
	}
	h.worlds = bufio.NewReader(out)
	return h, h.run.Start()
}

// world runs one world, as run does. It fails if the process failed; then the hand cannot be used again.
func (h *hand) world(seed uint64, cards int) (result, error) {
	_, _ = fmt.Fprintln(h.seeds, seed, cards) // if the process has ended, there is no answer
	line, err := h.worlds.ReadBytes('\n')
	var told report
	if err != nil || json.Unmarshal(line, &told) != nil {
		return result{}, h.failed(line)
	}
	r := result{seed: seed, turns: told.Turns, counts: told.Counts}
	for _, f := range told.Findings {
		r.findings = append(r.findings, finding{f[0], f[1], f[2]})
	}
	if told.Err != "" {
		r.err = errors.New(told.Err)
	}
	return r, nil
}

// failed ends the process, and returns its last output.
func (h *hand) failed(said []byte) error {
	h.seeds.Close()
	rest, _ := io.ReadAll(h.worlds)
	err := h.run.Wait()
	said = append(append(said, rest...), h.said.Bytes()...)
	return fmt.Errorf("the process of a hand ended (%w): %s", err, said[:min(len(said), 20_000)])
}

// close lets the process end. It fails if a test failed in it.
func (h *hand) close() error {
	h.seeds.Close()
	said, _ := io.ReadAll(h.worlds)
	if err := h.run.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	return nil
}

// TestHand is the work of a hand. In any other process it does nothing.
func TestHand(t *testing.T) {
	if os.Getenv(handKey) == "" {
		return
	}
	debug.SetGCPercent(400) // a world is small, and allocates much that it does not keep
	seeds := bufio.NewScanner(os.Stdin)
	for seeds.Scan() {
		var seed uint64
		var cards int
		if _, err := fmt.Sscan(seeds.Text(), &seed, &cards); err != nil {
			t.Fatal(err)
		}
		r := run(t, seed, cards, false)
		told := report{Turns: r.turns, Counts: r.counts}
		for _, f := range r.findings {
			told.Findings = append(told.Findings, [3]string{f.rule, f.about, f.text})
		}
		if r.err != nil {
			told.Err = r.err.Error()
		}
		line, err := json.Marshal(told)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("%s\n", line)
	}
}
