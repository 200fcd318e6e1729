package frame

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// Item is a line of the navigation.
type Item struct {
	Key   string          // its text is nav_<Key>; the icon has the same name
	Path  string          // below the shop, or below /dashboard/console: "payments"; "" is the first page
	Group string          // its heading is group_<Group>; "" has none
	Right merchants.Right // whoever lacks it does not see the item; "" is for everybody
}

// Items are the pages of a shop.
func Items() []Item {
	return []Item{
		{"home", "", "", merchants.RightRead},
		{"payments", "payments", "sales", merchants.RightRead},
		{"refunds", "refunds", "sales", merchants.RightRead},
		{"disputes", "disputes", "sales", merchants.RightRead},
		{"balance", "balance", "money", merchants.RightRead},
		{"settlements", "settlements", "money", merchants.RightRead},
		{"withdrawals", "withdrawals", "money", merchants.RightRead},
		{"analytics", "analytics", "money", merchants.RightRead},
		{"keys", "keys", "developers", merchants.RightKeys},
		{"webhooks", "webhooks", "developers", merchants.RightRead},
		{"events", "events", "developers", merchants.RightRead},
		{"requests", "requests", "developers", merchants.RightRead},
		{"shop", "shop", "settings", merchants.RightRead},
		{"team", "team", "settings", merchants.RightTeam},
	}
}

// ConsoleItems are the pages of the operator's console.
func ConsoleItems() []Item {
	return []Item{
		{"overview", "", "", ""},
		{"merchants", "merchants", "", ""},
		{"attention", "decisions", "", ""},
		{"analytics", "analytics", "", ""},
		{"plans", "plans", "", ""},
		{"providers", "accounts", "routing", ""},
		{"rules", "routing", "routing", ""},
		{"rates", "rates", "routing", ""},
		{"reconciliation", "reconciliation", "money", ""},
		{"payouts", "payouts", "money", ""},
		{"adjustments", "adjustments", "money", ""},
		{"check", "check", "money", ""},
		{"seals", "seals", "money", ""},
		{"health", "health", "service", ""},
		{"machine", "machine", "service", ""},
		{"audit", "audit", "service", ""},
		{"operators", "operators", "service", ""},
	}
}

// Quick is a page that is not in the navigation, but that the palette finds.
type Quick struct {
	Key, Path   string          // its text is do_<Key>
	Icon        string          // that of the Item it belongs to, whose words stand beside it
	Right       merchants.Right // as of an Item
	SandboxOnly bool
	Operators   operators.Right // of the console: whoever lacks it does not find the page
}

// Quicks are those of a shop.
func Quicks() []Quick {
	return []Quick{
		{"link", "payments/link", "payments", merchants.RightPayments, false, ""},
		{"links", "payments/links", "payments", merchants.RightRead, false, ""},
		{"test", "payments/test", "payments", merchants.RightPayments, true, ""},
		{"reserve", "balance/reserve", "balance", merchants.RightRead, false, ""},
		{"withdraw", "withdrawals/new", "withdrawals", merchants.RightWithdrawals, false, ""},
		{"wallets", "wallets", "withdrawals", merchants.RightRead, false, ""},
		{"wallet", "wallets/new", "withdrawals", merchants.RightWithdrawals, false, ""},
		{"funnel", "analytics/checkouts", "analytics", merchants.RightRead, false, ""},
		{"waits", "analytics/waits", "analytics", merchants.RightRead, false, ""},
		{"key", "keys/new", "keys", merchants.RightKeys, false, ""},
		{"webhook", "webhooks/new", "webhooks", merchants.RightWebhooks, false, ""},
		{"follow", "events/live", "events", merchants.RightRead, false, ""},
		{"brand", "shop/brand", "shop", merchants.RightRead, false, ""},
		{"shop", "shop/new", "shop", merchants.RightShop, false, ""},
		{"invite", "team/invite", "team", merchants.RightTeam, false, ""},
		{"roles", "team/roles", "team", merchants.RightTeam, false, ""},
	}
}

// ConsoleQuicks are those of the operator's console.
func ConsoleQuicks() []Quick {
	return []Quick{
		{"merchant", "merchants/new", "merchants", "", false, operators.Merchants},
		{"provider", "accounts/new", "providers", "", false, operators.Credentials},
		{"routing", "routing/edit", "rules", "", false, operators.Routing},
		{"adjustment", "adjustments/new", "adjustments", "", false, operators.Adjustments},
	}
}

// more is what the palette finds besides the navigation: what the visitor may open.
func (p *Page) more(groups []NavGroup) (list []Choice) {
	quicks := Quicks()
	if p.Frame.Console {
		quicks = ConsoleQuicks()
	}
	for _, group := range groups {
		for _, link := range group.Links {
			for _, q := range quicks {
				if q.Icon == link.Key && (q.Right == "" || p.Visit.May(q.Right)) && (q.Operators == "" || p.May(string(q.Operators))) && !(q.SandboxOnly && p.Visit.Live) {
					do, _ := p.room.text(p.lang, "do_"+q.Key)
					list = append(list, Choice{Label: do, Detail: link.Label, URL: p.Link(q.Path), Icon: q.Icon})
				}
			}
		}
	}
	return list
}

// item is an Item with its words, by language.
type item struct {
	Item
	label, group map[string]string
}

// label finds the words of items.
func (f *Frame) label(items []Item, text func(lang, key string) (string, bool)) ([]item, error) {
	var list []item
	for _, i := range items {
		words := item{i, map[string]string{}, map[string]string{}}
		for _, lang := range languages {
			label, known := text(lang, "nav_"+i.Key)
			group, grouped := text(lang, "group_"+i.Group)
			if !known || i.Group != "" && !grouped {
				return nil, fmt.Errorf("dashboard: the item %q needs texts nav_%s and group_%s in %s", i.Key, i.Key, i.Group, lang)
			}
			words.label[lang], words.group[lang] = label, group
		}
		list = append(list, words)
	}
	return list, nil
}

// NavGroup is a part of the navigation, as the layout shows it.
type NavGroup struct {
	Label string
	Links []NavLink
}

// NavLink is a line of the navigation, as the layout shows it.
type NavLink struct {
	Key, Label, URL string
	Current         bool
}

// nav is the navigation for a page.
func (p *Page) nav() []NavGroup {
	var groups []NavGroup
	items := p.room.frame.items
	switch {
	case p.Visit == nil:
		return nil
	case p.Frame.Console:
		items = p.room.frame.console
	case p.Visit.Shop.ID == "": // the profile of somebody who has no shop open
		return nil
	}
	at, path := -1, strings.Trim(p.Visit.Path, "/")
	for i, item := range items { // the longest path that the page's begins with
		if item.Path == path || item.Path != "" && strings.HasPrefix(path, item.Path+"/") {
			if at < 0 || len(item.Path) > len(items[at].Path) {
				at = i
			}
		}
	}
	lang := p.Lang()
	for i, item := range items {
		if item.Right != "" && (!p.Visit.May(item.Right) || item.Right == merchants.RightSandbox && p.Visit.Live) {
			continue
		}
		label := item.group[lang]
		in := slices.IndexFunc(groups, func(g NavGroup) bool { return g.Label == label })
		if in < 0 {
			groups, in = append(groups, NavGroup{Label: label}), len(groups)
		}
		groups[in].Links = append(groups[in].Links, NavLink{item.Key, item.label[lang], p.Link(item.Path), i == at})
	}
	return groups
}

// section is the page of the navigation that a path belongs to: it exists in other shops and environments too.
func (f *Frame) section(path string) string {
	found := ""
	for _, i := range f.items {
		if len(i.Path) > len(found) && (path == i.Path || strings.HasPrefix(path, i.Path+"/")) {
			found = i.Path
		}
	}
	return found
}

// PathOfObject is the page of an object of the API below its shop, "" if it has none.
func PathOfObject(id string) string {
	for prefix, page := range map[string]string{
		pay.PaymentPrefix: "payments/", pay.ClaimPrefix: "disputes/", pay.SettlementPrefix: "settlements/", webhooks.SubscriptionPrefix: "webhooks/", webhooks.EventPrefix: "events/",
	} {
		if strings.HasPrefix(id, prefix) {
			return page + id
		}
	}
	return ""
}
