package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// installer writes install.sh with the release's version, address and public key in it.
func (r *release) installer() error {
	script, err := os.ReadFile(r.path("package/install.sh"))
	if err != nil {
		return err
	}
	var key []byte
	if r.key != nil {
		if key, err = publicPEM(r.key); err != nil {
			return err
		}
	}
	text := string(script)
	for _, word := range [...]struct{ name, value string }{{"VERSION", r.version}, {"FROM", r.url}, {"KEY", strings.TrimSpace(string(key))}} {
		line := word.name + "=''"
		if strings.Count(text, "\n"+line+"\n") != 1 {
			return fmt.Errorf("package/install.sh has no line %s", line)
		}
		text = strings.Replace(text, "\n"+line+"\n", "\n"+word.name+"='"+word.value+"'\n", 1)
	}
	return os.WriteFile(filepath.Join(r.out, "install.sh"), []byte(text), 0o755)
}

// sdks makes the packages of the SDKs and takes them into the release. They have versions of their own.
func (r *release) sdks() error {
	made, err := os.MkdirTemp("", "cascada-sdks")
	if err != nil {
		return err
	}
	defer os.RemoveAll(made)
	c := exec.Command(r.path("sdk/pack.sh"), made)
	c.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.time.Unix()))
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("sdk/pack.sh: %w\n%s", err, out)
	}
	entries, err := os.ReadDir(made)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return errors.New("sdk/pack.sh made nothing")
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(made, e.Name()))
		if err != nil {
			return err
		}
		if err := r.write(e.Name(), text); err != nil {
			return err
		}
	}
	return nil
}
