// The client's tests against the service. They are a module of their own, so that the client's has no requirements.
// Nothing is required here either: go.work says where the service and the client are.
module github.com/cascadapay/cascada/client/e2e

go 1.26.0
