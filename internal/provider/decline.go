package provider

import (
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Decline is a refusal in our words.
type Decline struct {
	Code    problem.Code
	Reason  string // ours; the merchant sees it
	Message string // for people; never the provider's own name
	Soft    bool   // another provider may approve
}

// Hard is a refusal that every other provider would repeat.
func Hard(code problem.Code, reason, message string) Decline {
	return Decline{Code: code, Reason: reason, Message: message}
}

// Soft is a refusal for a reason that lies with the provider, not with the shopper.
func Soft(code problem.Code, reason, message string) Decline {
	return Decline{Code: code, Reason: reason, Message: message, Soft: true}
}

// Outcome is the refusal as the outcome of a charge; ref is the provider's reference.
func (d Decline) Outcome(ref string) pay.Outcome {
	return pay.Outcome{Kind: pay.Declined, Code: d.Code, Decline: d.Reason, Message: d.Message, Soft: d.Soft, ProviderRef: ref}
}

// Declines maps a provider's codes to refusals.
type Declines map[string]Decline

// Declined is the refusal for a provider's code. An unknown code is a refusal too: it is
// reported, and no other provider is tried.
func (a Account) Declined(table Declines, word, ref string) pay.Outcome {
	d, known := table[word]
	if !known {
		a.Strange("declined", word)
		d = Hard("", "declined", "the payment was declined")
	}
	return d.Outcome(ref)
}
