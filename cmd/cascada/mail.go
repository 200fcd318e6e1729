package main

import (
	"os"

	"github.com/cascadapay/cascada/internal/daemon"
)

// mailFlags say how e-mails reach merchants (docs/OPERATIONS.md).
type mailFlags struct {
	SMTP         string `name:"smtp-url" env:"CASCADA_SMTP_URL" placeholder:"URL" help:"Mail server, smtp://user@host:587 (encrypted by STARTTLS, except on loopback) or smtps://user@host:465; without it no e-mails are sent (${env})."`
	PasswordFile string `name:"smtp-password-file" env:"CASCADA_SMTP_PASSWORD_FILE" placeholder:"FILE" help:"File with the password for the mail server (${env}). CASCADA_SMTP_PASSWORD may hold the password itself."`
	From         string `name:"mail-from" env:"CASCADA_MAIL_FROM" placeholder:"ADDRESS" help:"Sender of e-mails, such as no-reply@pay.example.com (${env})."`
}

func (f mailFlags) config() daemon.Mail {
	return daemon.Mail{URL: f.SMTP, From: f.From, Password: os.Getenv("CASCADA_SMTP_PASSWORD"), PasswordFile: f.PasswordFile}
}
