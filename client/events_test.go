package client_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/cascadapay/cascada/client"
)

func TestEventsOfLaterVersionsAreReadable(t *testing.T) {
	const text = `{"id":"evt_1-1","type":"payment.authorized","apiVersion":"2030-01-01","createdAt":"2030-01-02T03:04:05.678Z","sequence":1,` +
		`"request":{"id":null},"data":{"object":{"id":"TXN-1","amount":"another form"},"previous":{},"more":1},"more":[]}`
	var e client.Event
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatal(err)
	}
	if e.ID != "evt_1-1" || e.Type != "payment.authorized" || e.CreatedAt.Year() != 2030 || e.Request.ID != "" ||
		e.Payment != nil || string(e.Data.Object) != `{"id":"TXN-1","amount":"another form"}` {
		t.Errorf("it reads as %+v", e)
	}
}

// A program may store an event as JSON and continue with it later.
func TestAnEventIsWrittenAndReadAgain(t *testing.T) {
	const text = `{"id":"evt_1-1","type":"payment.completed","createdAt":"2030-01-02T03:04:05.678Z","sequence":1,` +
		`"data":{"object":{"id":"TXN-1","amount":25.50},"previous":{"status":"pending"}}}`
	var e, again client.Event
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatal(err)
	}
	kept, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(kept, &again); err != nil || !reflect.DeepEqual(e, again) || again.Payment.Amount != "25.50" || again.Data.Previous.Status != "pending" {
		t.Errorf("%s reads as %+v, %v, want %+v", kept, again, err, e)
	}
}
