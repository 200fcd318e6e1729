package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/cascadapay/cascada/internal/app/rates"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/reconcile"
)

// words are the texts that flags take from the rest of the program, as ${name}: each default or list is
// defined in one place only.
func words() map[string]string {
	limits, fx := daemon.DefaultLimits(), rates.DefaultFX()
	var tiers []string
	for _, tier := range merchants.Tiers() {
		tiers = append(tiers, fmt.Sprintf("%s=%d", tier, limits.Tiers[tier]))
	}
	all := map[string]string{
		"columns": strings.Join(reconcile.ColumnWords(), ", "), "rights": merchants.WriteRights(merchants.Rights()),
		"roles": people.RoleWords(), "tier_limits": strings.Join(tiers, ","),
	}
	for name, n := range map[string]int{
		"sandbox_limit": limits.Sandbox, "logins_limit": limits.Logins, "open_limit": limits.Open, "refused_limit": limits.Refused,
		"fx_max_jump": int(fx.Limits.MaxJumpBps / 100),
	} {
		all[name] = strconv.Itoa(n)
	}
	for name, d := range map[string]time.Duration{
		"wallet_cool_down": pay.WalletCoolDown, "poll_limit": limits.Poll,
		"fx_stale_after": fx.Limits.StaleAfter, "fx_max_age": fx.Limits.MaxAge, "fx_every": fx.Every,
	} {
		all[name] = short(d)
	}
	return all
}

// filledIn puts the words into the texts of commands and flags. kong would do this too, but reads every word again for
// each flag, which takes half of the time of a short command.
func filledIn(words map[string]string) kong.Option {
	var pairs []string
	for name, word := range words {
		pairs = append(pairs, "${"+name+"}", word)
	}
	put := strings.NewReplacer(pairs...).Replace
	return kong.PostBuild(func(k *kong.Kong) error {
		return kong.Visit(k.Model, func(node kong.Visitable, next kong.Next) error {
			switch node := node.(type) {
			case *kong.Node:
				node.Help = put(node.Help)
			case *kong.Value:
				node.Help, node.Default, node.Enum = put(node.Help), put(node.Default), put(node.Enum)
				if node.Flag != nil {
					node.Flag.PlaceHolder = put(node.Flag.PlaceHolder)
				}
			}
			return next(nil)
		})
	})
}

// short writes a duration as people do: 24h for 24h0m0s.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
