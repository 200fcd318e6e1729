package dashboard

import (
	"context"
	"testing"

	"github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m, harness.EndBrowser) }

var ctx = context.Background()

// usersFrom is where requests of tests come from.
var usersFrom = people.From{Address: "127.0.0.1", Agent: "test"}
