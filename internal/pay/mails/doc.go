// Package mails has the e-mails that wait or were sent, with the content of each. internal/mail/letter writes their texts, and
// internal/mail sends them.
package mails
