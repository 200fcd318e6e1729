package app

import (
	"context"
	"testing"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/bench/growth"
)

// A credential costs no more than its size, whoever made it up.
func TestCredentialsCostNoMoreThanTheirSize(t *testing.T) {
	a, _, tokens := shopOf(t)
	ctx := context.Background()
	for _, begin := range []string{"", "sk_test_", "op_", "rt_", tokens.Access, "eyJhbGciOiJIUzI1NiJ9."} {
		for _, text := range []string{"a", ".", "{", "=", "eyJ."} {
			growth.Of(t, "credentials of "+begin+text, 32<<10, growth.Repeated(begin, text, ""), func(token string) (told int) {
				_, err := a.Access.Authenticate(ctx, base.Principal{}, token)
				if err == nil {
					t.Errorf("%.40q is taken", token)
					return 0
				}
				_, _, _ = a.Access.ParseRefresh(token)
				_, refused := a.Operators.Authenticate(ctx, token)
				return len(err.Error()) + len(refused.Error())
			})
		}
	}
}
