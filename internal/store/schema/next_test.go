package schema

import (
	"fmt"
	"io/fs"
	"testing/fstest"
)

// next is the migrations of the next version: every kind of migration there is.
func next() fs.FS {
	list, err := Read(nil)
	if err != nil {
		panic(err)
	}
	files := fstest.MapFS{}
	for i, file := range []struct{ name, text string }{
		{"notes_of_payments.expand", "ALTER TABLE payments ADD COLUMN note TEXT NOT NULL DEFAULT '';"},
		{"fill_the_notes.expand", "-- again and again\nUPDATE payments SET note = 'none' WHERE id IN (SELECT id FROM payments WHERE note = '' LIMIT 2)"},
		{"find_by_note.expand", "-- by itself\nDROP INDEX {concurrently} IF EXISTS payments_note;\nCREATE INDEX {concurrently} payments_note ON payments (note);\n"},
		{"only_new_ones.contract", "CREATE TABLE only_new (id TEXT NOT NULL PRIMARY KEY);"},
		{"after_the_contract.expand", "CREATE TABLE later (id TEXT NOT NULL PRIMARY KEY);"},
	} {
		files[fmt.Sprintf("%04d_%s.sql", len(list)+1+i, file.name)] = &fstest.MapFile{Data: []byte(file.text)}
	}
	return files
}
