package simulation

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	defects = flag.Int("defects", 0, "reintroduce the defects one at a time, and count the worlds until each is found: at most this many")
	only    = flag.String("only", "", "only the defects whose name contains this")
)

// defect is a mistake that the service had, or could have: a piece of source code, and its
// faulty replacement. The files are in testdata/defects.
type defect struct {
	name, what, file, old, new string
}

const root = "../.."

func readDefects() (list []defect, err error) {
	paths, err := filepath.Glob("testdata/defects/*.txt")
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("there are no defects: %w", err)
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		head, rest, ok := strings.Cut(string(content), "\n--- old\n")
		old, put, ok2 := strings.Cut(rest, "\n--- new\n")
		what, file, ok3 := strings.Cut(head, "\n")
		if !ok || !ok2 || !ok3 {
			return nil, fmt.Errorf("%s is not a defect: want a description, a file, --- old, --- new", path)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		list = append(list, defect{name, what, file, old, strings.TrimSuffix(put, "\n")})
	}
	return list, nil
}

// Every defect can be planted: its place exists exactly once.
func TestDefectsHaveTheirPlace(t *testing.T) {
	list, err := readDefects()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		content, err := os.ReadFile(filepath.Join(root, d.file))
		if err != nil {
			t.Errorf("%s: %v", d.name, err)
			continue
		}
		if n := strings.Count(string(content), d.old); n != 1 {
			t.Errorf("%s: %s has its place %d times, want once: the code has changed, so the defect must change too", d.name, d.file, n)
		}
	}
}

var (
	foundIn = regexp.MustCompile(`world (\d+): ([^:]+):`)
	ranOf   = regexp.MustCompile(`(\d+) worlds (?:of cards )?in`)
)

// hunting prints the table of docs/TESTING.md: how many worlds it takes to find each
// planted defect. It returns how many were not found.
func hunting(most int) (missed int) {
	list, err := readDefects()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for _, d := range list {
		if !strings.Contains(d.name, *only) {
			continue
		}
		out, err := d.hunt(most)
		found := foundIn.FindStringSubmatch(out)
		if err != nil || found == nil {
			missed++
			if strings.Contains(out, "[build failed]") {
				fmt.Printf("%s does not compile: %s\n", d.name, out)
				continue
			}
			fmt.Printf("| %s | not found | | |\n%v %s\n", d.what, err, out[max(0, len(out)-2500):])
			continue
		}
		fmt.Printf("| %s | %s | %s | %s |\n", d.what, ranOf.FindStringSubmatch(out)[1], found[1], found[2])
	}
	return missed
}

// hunt builds a copy of the sources with the defect, and runs worlds until they find
// something.
func (d defect) hunt(most int) (string, error) {
	dir, err := os.MkdirTemp("", "cascada-defect")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if out, err := exec.Command("sh", "-c", `tar -C "$0" --exclude .git --exclude bin -cf - . | tar -C "$1" -xf -`, root, dir).CombinedOutput(); err != nil {
		return string(out), err
	}
	path := filepath.Join(dir, d.file)
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(content), d.old, d.new, 1)), 0o600); err != nil {
		return "", err
	}
	worlds := []string{"-run", "TestWorlds", "-worlds", fmt.Sprint(most)}
	if strings.HasPrefix(d.name, "card-page-") {
		worlds = []string{"-run", "TestCardsOnPages", "-cards", fmt.Sprint(most * cardsAWorld)}
	}
	run := exec.Command("go", append([]string{"test", "./internal/simulation", "-v", "-timeout", "2h", "-until", "-hands", fmt.Sprint(*hands)}, worlds...)...)
	run.Dir = dir
	out, _ := run.CombinedOutput() // it fails if something is found
	return string(out), nil
}
