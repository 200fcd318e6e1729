package cli

import (
	"github.com/alecthomas/kong"
	"github.com/cascadapay/cascada/internal/pay/operators"
)

// rightsOf are the rights that commands need when they are run with an operator's token (OPR-1): of a command, or of all commands of a
// group.
var rightsOf = map[string]operators.Right{
	"adjust": operators.Adjustments, "adjust list": operators.View, "adjust show": operators.View,
	"audit":     operators.View,
	"backup":    operators.Machine,
	"check":     operators.View,
	"claim":     operators.View,
	"claim ask": operators.Cases, "claim carried": operators.Cases, "claim book": operators.Claims, "claim resolve": operators.Claims,
	"explain": operators.View,
	"fx":      operators.Rates, "fx list": operators.View,
	"key": operators.Keys, "key list": operators.View,
	"kyc": operators.Verifications, "kyc list": operators.View,
	"master-key": operators.Machine, "master-key list": operators.View,
	"merchant": operators.Merchants, "merchant close": operators.Pause, "merchant reopen": operators.Pause, "merchant leaving": operators.View, "merchant export": operators.Privacy, "merchant list": operators.View, "merchant pause": operators.Pause, "merchant resume": operators.Pause,
	"merchant terms": operators.Prices,
	"migrate":        operators.Machine,
	"notification":   operators.View, "notification close": operators.Cases,
	"operator": operators.Manage, "operator list": operators.View, "operator dual-control list": operators.View,
	"payment": operators.View, "payment resolve": operators.Payments,
	"payout": operators.Payouts, "payout list": operators.View, "payout show": operators.View, "payout float": operators.View, "payout limit": operators.Limits,
	"plan": operators.View, "plan apply": operators.Prices, "plan assign": operators.Prices,
	"privacy":  operators.Privacy,
	"proposal": operators.View, // who may approve depends on what is proposed
	"provider": operators.Accounts, "provider list": operators.View, "provider show": operators.View, "provider adapters": operators.View,
	"provider add": operators.Credentials, "provider apply": operators.Credentials, "provider rotate": operators.Credentials,
	"reconcile": operators.Reconciliation,
	"recover":   operators.Machine, "recover list": operators.View, "recover status": operators.View,
	"repair":  operators.Machine,
	"restore": operators.Machine,
	"route":   operators.Routing, "route show": operators.View, "route replay": operators.View,
	"seal":       operators.View,
	"settlement": operators.View, "settlement pay": operators.Settlements,
	"shop":  operators.Merchants,
	"story": operators.View,
	"user":  operators.Manage, "user list": operators.View, "user invite": operators.Merchants, "user role": operators.Keys,
	"withdrawal": operators.Payouts, "withdrawal list": operators.View, "withdrawal waiting": operators.View, "withdrawal show": operators.Reveal,
}

// RightOf is the right that a command needs, "" for one that needs no database.
func RightOf(command *kong.Node) operators.Right {
	for n := command; n != nil && n.Type == kong.CommandNode; n = n.Parent {
		if right := rightsOf[n.Path()]; right != "" {
			return right
		}
	}
	return ""
}
