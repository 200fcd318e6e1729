module github.com/cascadapay/cascada/client

// The oldest version that the code allows: encoding/json reads omitzero since 1.24.
go 1.24.0
