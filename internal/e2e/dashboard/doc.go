// Package dashboard proves the dashboard: who may open which page, and what merchants' staff and operators do with
// it in a day, in a real browser too.
package dashboard
