package dashboard_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/dashboard"
)

// No page of any room has a mistake that a service would show only when somebody opens the page.
func TestPagesHaveNoMistakes(t *testing.T) {
	site, err := dashboard.New(dashboard.Config{App: &app.App{}, Log: slog.New(slog.DiscardHandler), Now: time.Now, URL: "https://pay.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	if err := site.Check(); err != nil {
		t.Error(err)
	}
}
