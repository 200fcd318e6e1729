// The tests of the SDKs against a service, which they start as a program. Nothing is required here: go.work says where the Go
// client is.
module github.com/cascadapay/cascada/sdk/e2e

go 1.26.0
