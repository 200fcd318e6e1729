package main_test

import (
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
)

// pgBackRest backs up a PostgreSQL: a full backup, an incremental one, and the whole WAL. The server is lost, and
// pgBackRest restores it to a moment after the last backup. Then, as in TestDrillRestore, nothing is charged,
// refunded or paid out twice. The repository continues with the new server.
//
//	make drills DRILL=TestDrillPgBackRest
func TestDrillPgBackRest(t *testing.T) {
	t.Parallel()
	kept := dbtest.PgBackRest(t)
	if kept == nil {
		if *full {
			t.Fatal("pgBackRest is not installed: make drills")
		}
		t.Skip("pgBackRest is not installed: make drills DRILL=TestDrillPgBackRest installs it")
	}
	restoringHeading()
	kept.Do("--type=full", "backup")
	var at time.Time
	restore(t, "PostgreSQL, pgBackRest", dbtest.Address(kept), func(d *restoring) {
		kept.Do("--type=incr", "backup")
		d.window("logged", 5, nil) // it is only in the WAL
		at = time.Now()
	}, func(d *restoring) string {
		to := time.Now()
		d.server.kill()
		kept.Archived()
		kept.Kill()
		kept.Restore(at)
		d.user = d.user.with("CASCADA_DATABASE=" + dbtest.Address(kept))
		d.user.does(t, "recover", "begin", "--from", at.UTC().Add(-time.Second).Format(time.RFC3339), "--to", to.UTC().Add(time.Second).Format(time.RFC3339))
		return dbtest.Address(kept)
	})
	kept.Do("check")
	kept.Do("--type=full", "backup")
}
