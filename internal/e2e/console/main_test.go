package console

import (
	"context"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m, harness.EndBrowser) }

var ctx = context.Background()
