//go:build unix

package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Root restores a database that another user serves, as with the package: that user must be able to
// open the database, its key and its lock.
func TestRestoreByRootGivesFilesToTheServiceUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can change the owner of files")
	}
	t.Parallel()
	const nobody = 65534
	for _, before := range []string{"the database is there", "the database is gone"} {
		t.Run(before, func(t *testing.T) {
			t.Parallel()
			u := newUser(t)
			recipient, identity := ageKey(t, u.dir)
			there := filepath.Join(u.dir, "cascada")
			if err := os.Mkdir(there, 0o700); err != nil {
				t.Fatal(err)
			}
			u = u.with("CASCADA_DATABASE=sqlite:" + filepath.Join(there, "cascada.db"))
			u.does(t, "migrate")
			u.merchant(t, "sqlite:"+filepath.Join(there, "cascada.db"))
			u.does(t, "backup", "copy.age", "--encrypt-to", recipient, "--with-key")
			args := []string{"restore", "copy.age", "--identity", identity}
			names, err := filepath.Glob(filepath.Join(there, "*"))
			if err != nil || len(names) < 2 {
				t.Fatal(names, err)
			}
			for _, name := range append(names, there) {
				if err := os.Chown(name, nobody, nobody); err != nil {
					t.Fatal(err)
				}
			}
			if before == "the database is there" {
				args = append(args, "--move-aside")
			} else {
				for _, name := range names {
					if err := os.Remove(name); err != nil {
						t.Fatal(err)
					}
				}
				args = append(args, "--with-key")
			}
			u.does(t, args...)
			names, err = filepath.Glob(filepath.Join(there, "*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"cascada.db", "cascada.db.key", "cascada.db.lock"} {
				if !strings.Contains(strings.Join(names, "\n")+"\n", name+"\n") {
					t.Errorf("%s is missing", name)
				}
			}
			for _, name := range names {
				info, err := os.Stat(name)
				if err != nil {
					t.Fatal(err)
				}
				if owner, ok := info.Sys().(*syscall.Stat_t); !ok || owner.Uid != nobody || owner.Gid != nobody {
					t.Errorf("%s does not belong to the user of the service", filepath.Base(name))
				}
				if info.Mode().Perm()&0o077 != 0 {
					t.Errorf("%s has the mode %v", filepath.Base(name), info.Mode())
				}
			}
		})
	}
}
