package main

import (
	"log/slog"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/daemon/masterkey"
)

// Every package of commands gets all use cases that it calls: open.go forgets no field of its Uses.
func TestCommandsGetAllThatTheyUse(t *testing.T) {
	c := cli.Config{Place: masterkey.Place{Database: "sqlite:" + filepath.Join(t.TempDir(), "c.db"), Keys: masterkey.New()}, Log: slog.New(slog.DiscardHandler)}
	rooms := 0
	for _, open := range openers() {
		out := reflect.ValueOf(open).Call([]reflect.Value{reflect.ValueOf(t.Context()), reflect.ValueOf(c)})
		if err, failed := out[1].Interface().(error); failed {
			t.Fatalf("%T: %v", open, err)
		}
		uses := out[0]
		if uses.Kind() != reflect.Struct { // the whole service, or its books
			uses.MethodByName("Close").Call(nil)
			continue
		}
		rooms++
		for _, field := range reflect.VisibleFields(uses.Type()) {
			if len(field.Index) == 1 && uses.FieldByIndex(field.Index).IsZero() {
				t.Errorf("%s has no %s", uses.Type(), field.Name)
			}
		}
		uses.FieldByName("Close").Call(nil)
	}
	if rooms < 10 {
		t.Errorf("only %d packages of commands have an opener", rooms)
	}
}
