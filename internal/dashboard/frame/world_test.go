package frame

import (
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/store"
)

// noon is the time of all tests.
var noon = time.Date(2026, 11, 26, 14, 5, 0, 0, time.UTC)

// start returns a frame and the room of the gallery, which has all parts.
func start(t testing.TB) (*Frame, *Pages) {
	t.Helper()
	f, err := New(Config{Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: func() time.Time { return noon }, Docs: "/docs", Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.NewPages(os.DirFS("testdata/gallery"))
	if err != nil {
		t.Fatal(err)
	}
	return f, r
}

// visit is an owner's look at a shop.
func visit(path string, live bool, language merchants.Language) *Visit {
	shops := []merchants.Shop{{ID: "shp_1", Name: "Café São Paulo"}, {ID: "shp_2", Name: "Café Online"}}
	return &Visit{
		Principal: base.Principal{Scope: merchants.Scope{Merchant: "mer_1", Shop: "shp_1", Live: live}, Kind: merchants.Restricted, Rights: people.Owner.Rights(true)},
		User:      people.User{ID: "usr_1", Name: "Ana Pérez", Email: "ana@cafe.example", Language: language},
		Role:      people.Owner, Merchant: merchants.Merchant{ID: "mer_1", Name: "Café Central S.A."}, Shop: shops[0], Shops: shops,
		Others: []store.Tenancy{{Merchant: merchants.Merchant{ID: "mer_2", Name: "Libros del Sur"}, Shop: merchants.Shop{ID: "shp_9", Name: "Librería"}}}, Path: path,
	}
}

// console is an operator's look at the console.
func console(path string) *Visit {
	return &Visit{User: people.User{ID: "usr_2", Name: "Olga", Email: "olga@cascada.example", Operator: operators.Admin}, Path: path}
}

type row struct {
	ID, Status, Customer, Method string
	Amount                       money.Amount
	Created                      time.Time
}

// sample is the data of the gallery.
func sample() map[string]any {
	usd := func(cents int64) money.Amount { return money.New(cents, money.USD) }
	var rows []row
	for i, status := range []string{"completed", "pending", "failed", "refunded", "chargeback", "processing", "completed", "expired"} {
		rows = append(rows, row{
			ID: "TXN-01HZX3K2M4N5P6Q7R" + string(rune('A'+i)), Status: status, Customer: []string{"maria.fernandez@example.com", "joao@example.com.br", "Luis Gómez"}[i%3],
			Method: []string{"Pix", "Card •• 4242", "OXXO"}[i%3], Amount: []money.Amount{usd(18420), money.New(1250000, "COP"), money.New(99, money.BRL), usd(1284000)}[i%4],
			Created: noon.Add(-time.Duration(i*i) * 37 * time.Minute),
		})
	}
	chart, bars := Chart{Kind: "area", Decimals: 2, Unit: "USD"}, Chart{Kind: "bars", ByHour: true}
	var now, before, sent []int64
	for i := range 30 {
		chart.Times = append(chart.Times, noon.Truncate(24*time.Hour).AddDate(0, 0, i-29))
		now, before = append(now, int64(400000+90000*(i%7)+7000*i)), append(before, int64(380000+70000*((i+3)%6)))
	}
	for i := range 12 {
		bars.Times = append(bars.Times, noon.Truncate(time.Hour).Add(time.Duration(i-11)*time.Hour))
		sent = append(sent, int64(20+(i*37)%50))
	}
	now[4] = Gap
	chart.Series = []Series{{Name: "These 30 days", Values: now}, {Name: "The 30 days before", Values: before, Tone: "quiet"}}
	bars.Series = []Series{{Name: "Deliveries", Values: sent}}
	return map[string]any{
		"Rows": rows, "Chart": chart, "Bars": bars, "Gross": usd(18442013), "Balance": usd(5210077), "Fee": usd(-53481), "Spark": now[5:], "Spark2": before,
		"Pager": Pager{From: 1, To: 50, Total: 1234, Next: "c2"}, "Earlier": noon.Add(-5 * time.Minute), "Later": noon.Add(50 * time.Hour),
		"Code":     "{\n  \"id\": \"evt_01HZX3K2M4N5P6Q7R8\",\n  \"type\": \"payment.completed\",\n  \"data\": { \"amount\": 184.2, \"currency\": \"USD\" }\n}",
		"Choices":  []Option{{"all", "All events", "New types are sent too, once there are some."}, {"some", "Some events", "You choose which."}},
		"Rights":   map[string]bool{"read": true},
		"Statuses": []string{"completed", "pending", "failed", "refunded", "needs_evidence", "canceled", "something_new"},
	}
}

// spokenLanguage is a language by its name.
func spokenLanguage(name string) merchants.Language { return merchants.Language(name) }
