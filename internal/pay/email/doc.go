// Package email has the e-mails that wait or were sent, with what each is about. internal/letter writes their texts, and
// internal/mail sends them.
package email
