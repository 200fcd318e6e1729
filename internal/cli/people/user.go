package people

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"text/tabwriter"

	users "github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/people"
)

// User is cascada user.
type User struct {
	Invite  userInviteCmd  `cmd:"" help:"Invite a person to a merchant or to the operator's console. It prints a link that works once, for seven days."`
	List    userListCmd    `cmd:"" help:"List the users of a merchant, or of the operator's console, and the invitations that wait."`
	Link    userLinkCmd    `cmd:"" help:"Print a link for a user: to sign in, or to choose a new password. It works once."`
	Role    userRoleCmd    `cmd:"" help:"Change the role of a user at a merchant."`
	Unlock  userUnlockCmd  `cmd:"" help:"Unlock a user after wrong passwords, and remove all second factors, in case the user lost them."`
	SignOut userSignOutCmd `cmd:"" name:"sign-out" help:"End all sign-ins of a user, for example after a lost laptop."`
	Remove  userRemoveCmd  `cmd:"" help:"Remove a user from a merchant, or altogether. Sign-ins of a removed user end at once."`
}

// linkFlags are the flags of commands that print a link.
type linkFlags struct {
	cli.DatabaseFlags
	PublicURL cli.PublicURL `default:"http://127.0.0.1:8080" env:"CASCADA_PUBLIC_URL" placeholder:"URL" help:"Public URL of the service, with which the link begins (${env}, default ${default})."`
}

func (f linkFlags) over(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) (Uses, error) {
	c := f.OperatorConfig(log)
	c.PublicURL = strings.TrimSuffix(string(f.PublicURL), "/")
	return open.As(ctx, c)
}

func printLink(told users.NewLink) error {
	_, err := fmt.Fprintf(cli.Stdout, "%s\nThe link works once, until %s. Give it to nobody else.\n", told.Address, told.Link.EndsAt.Format(cli.TimeForm))
	return err
}

type userInviteCmd struct {
	linkFlags
	Email    string `arg:"" help:"E-mail address of the person."`
	Merchant string `placeholder:"ID" help:"Merchant, mer_…"`
	Role     string `help:"Role at the merchant: ${roles}; owner by default. Role of an operator: admin, finance, risk, support or viewer; admin by default."`
	Operator bool   `help:"Invite to the operator's console."`
	Language string `default:"en" enum:"en,es,pt" help:"Language of the e-mail: en, es or pt."`
}

func (c *userInviteCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	if (c.Merchant == "") != c.Operator {
		return errors.New("give exactly one of these: --merchant or --operator")
	}
	a, err := c.over(ctx, log, open)
	if err != nil {
		return err
	}
	defer a.Close()
	n := users.Invitee{Email: c.Email, Merchant: c.Merchant, Language: merchants.Language(c.Language)}
	if c.Operator {
		n.Operator = operators.Role(cmp.Or(c.Role, string(operators.Admin)))
	} else {
		n.Role = people.Role(cmp.Or(c.Role, string(people.Owner)))
	}
	told, err := a.Links.Invite(ctx, a.Self(), "", n)
	if err != nil {
		return err
	}
	return printLink(told)
}

type userLinkCmd struct {
	linkFlags
	Email    string `arg:"" help:"E-mail address of the user."`
	Password bool   `help:"Let the user choose a new password; the link works for an hour."`
}

func (c *userLinkCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := c.over(ctx, log, open)
	if err != nil {
		return err
	}
	defer a.Close()
	kind := people.SignInLink
	if c.Password {
		kind = people.PasswordReset
	}
	told, err := a.Links.LinkTo(ctx, a.Self(), c.Email, kind)
	if err != nil {
		return err
	}
	return printLink(told)
}

type userListCmd struct {
	cli.DatabaseFlags
	Merchant string `placeholder:"ID" help:"Merchant, mer_…; without it the users of the operator's console are listed."`
	JSON     bool   `name:"json" help:"Print one JSON object per line."`
}

// userJSON is the shape of a user in --json.
type userJSON struct {
	ID        string      `json:"id"`
	Email     string      `json:"email"`
	Name      string      `json:"name,omitempty"`
	Role      people.Role `json:"role,omitempty"`
	Factor    bool        `json:"secondFactor"`
	Invited   bool        `json:"invited"` // and not accepted yet
	CreatedAt string      `json:"createdAt"`
}

func (c *userListCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	list, err := c.read(ctx, a)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	if !c.JSON {
		fmt.Fprintln(table, "USER\tEMAIL\tNAME\tROLE\tSECOND FACTOR\tSINCE")
	}
	for _, u := range list {
		if c.JSON {
			if err := json.NewEncoder(cli.Stdout).Encode(u); err != nil {
				return err
			}
			continue
		}
		id, factor := u.ID, "no"
		if u.Factor {
			factor = "yes"
		}
		if u.Invited {
			id, factor = "invited", ""
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", id, u.Email, u.Name, u.Role, factor, u.CreatedAt)
	}
	return table.Flush()
}

func (c *userListCmd) read(ctx context.Context, a Uses) (list []userJSON, err error) {
	add := func(u people.User, role people.Role) {
		list = append(list, userJSON{u.ID, u.Email, u.Name, role, u.HasFactor(), false, u.CreatedAt.Format(cli.TimeForm)})
	}
	var invited []people.Link
	if c.Merchant == "" {
		staff, links, err := a.Team.Operators(ctx)
		if err != nil {
			return nil, err
		}
		for _, u := range staff {
			add(u, people.Role(u.Operator))
		}
		invited = links
	} else {
		if _, err := a.AnyMerchant(ctx, c.Merchant); err != nil {
			return nil, err
		}
		members, links, err := a.Team.List(ctx, c.Merchant)
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			add(m.User, m.Role)
		}
		invited = links
	}
	for _, l := range invited {
		list = append(list, userJSON{l.ID, l.Email, "", cmp.Or(l.Role, people.Role(l.Operator)), false, true, l.CreatedAt.Format(cli.TimeForm)})
	}
	return list, nil
}

type userRoleCmd struct {
	cli.DatabaseFlags
	Email    string `arg:"" help:"E-mail address of the user."`
	Role     string `arg:"" help:"New role: ${roles}."`
	Merchant string `required:"" placeholder:"ID" help:"Merchant, mer_…"`
}

func (c *userRoleCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	if err := people.CheckRole(people.Role(c.Role)); err != nil {
		return err
	}
	if err := a.Team.SetRoleOf(ctx, a.Self(), c.Merchant, c.Email, people.Role(c.Role)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cli.Stdout, "%s is %s of %s\n", c.Email, c.Role, c.Merchant)
	return err
}

type userUnlockCmd struct {
	cli.DatabaseFlags
	Email string `arg:"" help:"E-mail address of the user."`
}

func (c *userUnlockCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	if err := a.Team.Unlock(ctx, a.Self(), c.Email); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cli.Stdout, "%s signs in with the password alone now\n", c.Email)
	return err
}

type userRemoveCmd struct {
	cli.DatabaseFlags
	Email    string `arg:"" help:"E-mail address of the user."`
	Merchant string `placeholder:"ID" help:"Only from this merchant, mer_…"`
}

func (c *userRemoveCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	u, err := a.Team.Find(ctx, c.Email)
	if err != nil {
		return err
	}
	if c.Merchant != "" {
		err = a.Team.SetRoleOf(ctx, a.Self(), c.Merchant, c.Email, "")
	} else {
		err = a.Team.Remove(ctx, a.Self(), c.Email)
	}
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(cli.Stdout, "%s was removed\n", c.Email); err != nil {
		return err
	}
	return c.tellKeys(ctx, a, u.ID)
}

// tellKeys prints the keys that a removed user made and that still work.
func (c *userRemoveCmd) tellKeys(ctx context.Context, a Uses, user string) error {
	merchants := []string{c.Merchant}
	if c.Merchant == "" {
		var err error
		if merchants, err = a.Team.Ever(ctx, user); err != nil {
			return err
		}
	}
	for _, merchant := range merchants {
		list, err := a.Keys.MadeBy(ctx, merchant, user)
		if err != nil {
			return err
		}
		for _, k := range list {
			if _, err := fmt.Fprintf(cli.Stdout, "the key %s (%s) of %s, which this user made, still works: cascada key rotate %s, or cascada key revoke %s\n", k.ID, k.Preview, merchant, k.ID, k.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

type userSignOutCmd struct {
	cli.DatabaseFlags
	Email string `arg:"" help:"E-mail address of the user."`
}

func (c *userSignOutCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	if err := a.People.SignOut(ctx, a.Self(), c.Email); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cli.Stdout, "%s is signed out everywhere\n", c.Email)
	return err
}
