package conekta

import (
	"fmt"
	"slices"

	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// Try implements providertest.CardFake. Each card that is tried on a checkout is a charge of its order.
func (f *fake) Try(reference, code string) (n provider.Notification, open bool) {
	f.Lock()
	defer f.Unlock()
	e := f.Must(reference)
	if !e.hosted || e.Ending != providertest.Open || e.status == "canceled" {
		return n, false
	}
	f.try(e, "pending_payment", code)
	e.charges[len(e.charges)-1]["created_at"] = f.now.Unix() + int64(len(e.charges))
	state := "declined"
	if code == "" {
		state, e.Ending = "paid", providertest.Paid
	}
	e.set(state, state)
	f.serial++
	return event(fmt.Sprint(f.serial), "order."+state, e.json()), true
}

// In implements providertest.Installing.
func (f *fake) In(reference string, count int) (n provider.Notification, offered bool) {
	f.Lock()
	defer f.Unlock()
	e := f.Must(reference)
	if !slices.Contains(e.months, count) || e.Ending != providertest.Open {
		return n, false
	}
	f.try(e, "paid", "")
	e.charges[len(e.charges)-1]["monthly_installments"] = count
	e.Ending = providertest.Paid
	e.set("paid", "paid")
	f.serial++
	return event(fmt.Sprint(f.serial), "order.paid", e.json()), true
}
