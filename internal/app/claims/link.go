package claims

import (
	"context"
	"crypto/hmac"
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/store"
)

// linkLife is for how long a link to a file of evidence works. A provider fetches the file while it answers the call that has the link, which
// takes two minutes at most; the rest is for the clocks of nodes.
const linkLife = 10 * time.Minute

// linkTo is a link to one file of the submission that is under way. It has all that the file is found by, so every node can serve it and none
// keeps it. ok is false if no provider may be given a link to this service.
func (cl *Claims) linkTo(c pay.Claim, evidence string) (address string, ok bool) {
	if !provider.Linkable(cl.CheckoutURL, c.Live) {
		return "", false
	}
	said := strings.Join([]string{c.ID, evidence, strconv.Itoa(c.Defense.Pieces), strconv.FormatInt(cl.Now().Add(linkLife).Unix(), 10)}, ".")
	return cl.CheckoutURL + "/evidence/" + base64.RawURLEncoding.EncodeToString([]byte(said)) + "." + base64.RawURLEncoding.EncodeToString(signLink(cl.Base, said)), true
}

func signLink(b *base.Base, said string) []byte {
	sum := b.Vault.MAC("evidence link", said)
	return sum[:]
}

// LinkedFile reads the file that a link's token names, while the link works: until its time is over, and while its submission is the claim's
// last one and the provider may need it.
//
// Errors: not_found, the same whatever is wrong.
func (l *Lists) LinkedFile(ctx context.Context, token string) (pay.File, error) {
	none := problem.New(problem.NotFound, base.NoPage)
	body, mac, _ := strings.Cut(token, ".")
	said, err1 := base64.RawURLEncoding.Strict().DecodeString(body)
	signature, err2 := base64.RawURLEncoding.Strict().DecodeString(mac)
	if err1 != nil || err2 != nil || !hmac.Equal(signature, signLink(l.Base, string(said))) {
		return pay.File{}, none
	}
	parts := strings.Split(string(said), ".") // we wrote it
	pieces, err1 := strconv.Atoi(parts[2])
	until, err2 := strconv.ParseInt(parts[3], 10, 64)
	if err1 != nil || err2 != nil || l.Now().Unix() >= until {
		return pay.File{}, none
	}
	c, err := l.Store.Claims().Any(ctx, parts[0])
	if errors.Is(err, store.ErrNotFound) {
		return pay.File{}, none
	}
	if err != nil {
		return pay.File{}, err
	}
	wanted := []pay.DefenseState{pay.DefenseSending, pay.DefenseUnknown, pay.DefenseSubmitted}
	if c.Defense.Pieces != pieces || !slices.Contains(wanted, c.Defense.State) {
		return pay.File{}, none
	}
	f, err := l.Store.Claims().File(ctx, c.Scope, c.ID, parts[1])
	if errors.Is(err, store.ErrNotFound) {
		return pay.File{}, none
	}
	return f, err
}
