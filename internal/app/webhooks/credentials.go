package webhooks

import (
	"strings"

	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// Credentials are what an endpoint asks of its callers.
type Credentials = sender.Credentials

// SubscriptionEdit is a change by the owner.
type SubscriptionEdit struct {
	webhooks.SubscriptionEdit
	Credentials   *Credentials // in place of those from before; nil keeps them
	NoCredentials bool         // takes them away
	Strict        *bool        // header Sandbox-Strict; nil: the setting of the merchant's sandbox
}

// credentials checks what an endpoint asks of its callers. An inbox asks for nothing.
func (p *problems) credentials(c *Credentials, managed bool) {
	const field = "authentication"
	if c == nil {
		return
	}
	if managed {
		p.issues = append(p.issues, problem.Issue{Path: field, Reason: credentialsOfInbox})
		return
	}
	for _, m := range c.Check() {
		path := strings.TrimSuffix(field+"."+m.Field, ".")
		p.issues = append(p.issues, problem.Issue{Path: path, Reason: m.Why})
		if m.Missing {
			p.missing = append(p.missing, path)
		}
	}
}

// encrypted encrypts credentials for an endpoint at an address.
func (w *Webhooks) encrypted(subscription, address string, c sender.Credentials) webhooks.Authentication {
	return webhooks.Authentication{
		Username: c.Username, Header: c.Header, Encrypted: w.Vault.Encrypt(webhooks.AuthenticationOf(subscription, address), []byte(c.Secret())),
	}
}

// edit is an owner's edit with its credentials encrypted, for the address that the endpoint will have.
func (w *Webhooks) edit(read webhooks.Subscription, e SubscriptionEdit) webhooks.SubscriptionEdit {
	edit, address := e.SubscriptionEdit, read.URL
	if e.URL != nil {
		address = *e.URL
	}
	switch {
	case e.NoCredentials:
		edit.Authentication = &webhooks.Authentication{}
	case e.Credentials != nil:
		encrypted := w.encrypted(read.ID, address, *e.Credentials)
		edit.Authentication = &encrypted
	}
	return edit
}

// credentials decrypts the credentials of an endpoint, for a request to it.
func (w *Webhooks) credentials(sub webhooks.Subscription) (sender.Credentials, error) {
	a := sub.Authentication
	if a.None() {
		return sender.Credentials{}, nil
	}
	secret, err := w.Vault.Decrypt(webhooks.AuthenticationOf(sub.ID, sub.URL), a.Encrypted)
	return sender.Credentials{Username: a.Username, Header: a.Header}.WithSecret(string(secret)), err
}

// audited is what the audit log tells of an endpoint after a change. before is zero for a new one.
func audited(sub, before webhooks.Subscription) map[string]string {
	details := map[string]string{"url": origin(sub.URL), "events": strings.Join(sub.Events, ",")}
	if before.ID != "" {
		details["status"] = string(sub.Status)
	}
	if a := sub.Authentication; !a.Same(before.Authentication) {
		details["authentication"] = a.Kind()
	}
	return details
}
