module github.com/cascadapay/cascada/conform

go 1.26.0

replace github.com/cascadapay/cascada => ../

require (
	github.com/cascadapay/cascada v0.0.0
	github.com/stripe/stripe-mock v0.203.0
)

require (
	codeberg.org/go-pdf/fpdf v0.12.0 // indirect
	github.com/davecgh/go-spew v1.1.0 // indirect
	github.com/go-text/typesetting v0.3.5 // indirect
	github.com/lestrrat-go/jspointer v0.0.0-20181205001929-82fadba7561c // indirect
	github.com/lestrrat-go/jsref v0.0.0-20181205001954-1b590508f37d // indirect
	github.com/lestrrat-go/jsschema v0.0.0-20181205002244-5c81c58ffcc3 // indirect
	github.com/lestrrat-go/jsval v0.0.0-20181205002323-20277e9befc0 // indirect
	github.com/lestrrat-go/pdebug v0.0.0-20180220043849-39f9a71bcabe // indirect
	github.com/lestrrat-go/structinfo v0.0.0-20190212233437-acd51874663b // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/stretchr/testify v1.3.0 // indirect
	github.com/xeipuuv/gojsonschema v1.2.0 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/image v0.47.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)
