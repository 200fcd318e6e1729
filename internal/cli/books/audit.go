package books

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// Audit is cascada audit.
type Audit struct {
	List auditListCmd `cmd:"" help:"List the entries of the audit log, oldest first."`
}

type auditListCmd struct {
	cli.DatabaseFlags
	Merchant string    `placeholder:"ID" help:"Only entries of this merchant, mer_…"`
	Since    time.Time `format:"2006-01-02" placeholder:"DATE" help:"Only entries from this day on, such as 2026-11-21 (UTC)."`
	JSON     bool      `name:"json" help:"Print one JSON object per line."`
}

// auditLine is the shape of audit list --json.
type auditLine struct {
	ID          string                `json:"id"`
	At          string                `json:"at"`
	Merchant    string                `json:"merchantId,omitempty"`
	Shop        string                `json:"shopId,omitempty"`
	Environment merchants.Environment `json:"environment"`
	Actor       auditActor            `json:"actor"`
	Action      audit.Act             `json:"action"`
	Object      string                `json:"object"`
	Details     map[string]string     `json:"details,omitempty"`
}

type auditActor struct {
	Kind    audit.ActorKind `json:"kind"`
	ID      string          `json:"id,omitempty"`
	IP      string          `json:"ip,omitempty"`
	Request string          `json:"requestId,omitempty"`
}

// auditPage is how many entries are read at once.
const auditPage = 1000

func (c *auditListCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[*app.App]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	out := bufio.NewWriter(cli.Stdout)
	after := ""
	for {
		page, err := a.Audit(ctx, c.Merchant, after, c.Since, auditPage)
		if err != nil {
			return err
		}
		for _, e := range page {
			if err := c.print(out, e); err != nil {
				return err
			}
			after = e.ID
		}
		if len(page) < auditPage {
			return out.Flush()
		}
	}
}

func (c *auditListCmd) print(out io.Writer, e audit.Entry) error {
	at := e.At.Format("2006-01-02T15:04:05.000Z")
	if c.JSON {
		return json.NewEncoder(out).Encode(auditLine{
			ID: e.ID, At: at, Merchant: e.Merchant, Shop: e.Shop, Environment: e.Environment(),
			Actor:  auditActor{e.By.Kind, e.By.ID, e.By.IP, e.By.Request},
			Action: e.Act, Object: e.Object, Details: e.Details,
		})
	}
	words := []string{at, e.Merchant, string(e.Environment()), string(e.Act), e.Object, "by", string(e.By.Kind)}
	words = append(words, e.By.ID, e.By.IP, e.By.Request)
	for _, name := range slices.Sorted(maps.Keys(e.Details)) {
		words = append(words, fmt.Sprintf("%s=%q", name, e.Details[name]))
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	_, err := fmt.Fprintln(out, strings.Join(words, " "))
	return err
}
