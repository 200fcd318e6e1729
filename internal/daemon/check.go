package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/daemon/masterkey"
	"github.com/cascadapay/cascada/internal/limit"
	"github.com/cascadapay/cascada/internal/pay/routing"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
	"github.com/cascadapay/cascada/internal/trace"
)

// Check returns every configuration error that needs no database and no network to find. It
// creates nothing and listens nowhere.
func (c Config) Check() error {
	problems := []error{c.checkFaults(), c.checkPauses(), c.checkMasterKeys(), app.CheckAddress(c.Database), trace.Config{Endpoint: c.Traces}.Check()}
	for _, one := range []struct{ what, address string }{
		{"listen", c.Listen}, {"metrics", c.Metrics}, {"pprof", c.Pprof}, {"admin", c.Admin}, {"console", c.Console},
	} {
		if one.address == "" {
			continue
		}
		if _, err := net.ResolveTCPAddr("tcp", one.address); err != nil {
			problems = append(problems, fmt.Errorf("%s: want an address of this machine and a port, such as 127.0.0.1:8080: %w", one.what, err))
		}
	}
	if c.Limits != nil {
		problems = append(problems, c.Limits.check())
		if c.Limits.Redis != "" {
			problems = append(problems, limit.CheckRedis(c.Limits.Redis))
		}
	}
	_, rates := c.FX.open()
	_, order := routing.ParseOrder(c.Routing)
	_, mailer := c.Mail.open()
	_, company := c.OIDC.open(c.PublicURL, time.Now)
	return errors.Join(append(problems, rates, order, mailer, company)...)
}

// checkPauses refuses negative durations.
func (c Config) checkPauses() error {
	for what, pause := range map[string]time.Duration{"drain delay": c.DrainDelay, "wallet cool-down": c.WalletCoolDown} {
		if pause < 0 {
			return fmt.Errorf("%s: want zero or more, not %s", what, pause)
		}
	}
	return nil
}

func (c Config) checkFaults() error {
	for account, fault := range c.Faults {
		if !slices.Contains(sandbox.Accounts(), account) {
			return fmt.Errorf("sandbox fault: there is no provider %q; want one of %v", account, sandbox.Accounts())
		}
		if err := sandbox.Fault(fault).Check(); err != nil {
			return err
		}
	}
	return nil
}

// checkMasterKeys reads the master keys. A missing file is fine: a first start creates it.
func (c Config) checkMasterKeys() error {
	path, err := c.keyPlace().KeyFile()
	if err != nil {
		_, err = masterkey.Parse(c.MasterKey, "CASCADA_MASTER_KEY")
		return err
	}
	if _, err = masterkey.Read(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
