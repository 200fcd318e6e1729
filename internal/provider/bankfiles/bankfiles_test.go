package bankfiles

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/provider"
)

// A setting that is wrong is refused when the account is opened, by its name.
func TestSettings(t *testing.T) {
	pain := map[string]string{"layout": "pain.001.09", "name": "Operator SA", "iban": "DE89370400440532013000", "bic": "COBADEFFXXX"}
	bradesco := map[string]string{
		"layout": "cnab240", "bank_code": "237", "name": "Operadora Ltda", "document": "11222333000181", "agreement": "123456",
		"branch": "1234", "branch_digit": "3", "account": "1234567", "account_digit": "4",
	}
	for name, c := range map[string]struct {
		of                 map[string]string
		field, value, want string
	}{
		"right":              {of: pain},
		"ACSC":               {of: pain, field: "acsc", value: "paid"},
		"other word":         {pain, "acsc", "pending", `acsc: "pending" is not paid`},
		"no layout":          {pain, "layout", "mt101", `layout: there is no layout "mt101"`},
		"no zone":            {pain, "zone", "Mars/Base", `zone: "Mars/Base" is not a time zone`},
		"wrong column":       {pain, "columns", "x=1", "columns: "},
		"wrong answer":       {pain, "answer_columns", "x=status", "answer_columns: "},
		"missing":            {pain, "iban", "", "iban: "},
		"Bradesco":           {of: bradesco},
		"Bradesco's number":  {bradesco, "agreement", "12345", "agreement: "},
		"Itaú in the common": {bradesco, "bank_code", "341", "bank_code: "},
	} {
		credentials := maps.Clone(c.of)
		if c.field != "" {
			credentials[c.field] = c.value
		}
		_, err := open(provider.Account{Credentials: credentials})
		var wrong *provider.FieldError
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (!errors.As(err, &wrong) || !strings.HasPrefix(wrong.Field+": "+wrong.Reason, c.want)):
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}
