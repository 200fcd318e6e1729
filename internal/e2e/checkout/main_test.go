package checkout

import (
	"context"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m, endBrowser) }

var ctx = context.Background()
