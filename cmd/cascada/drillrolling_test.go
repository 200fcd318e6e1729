package main_test

import "io/fs"

func nextMigrations() fs.FS { return nil }
