package pay

// Beneficiary is who a wallet belongs to, as far as the merchant told. Secret; not to be logged.
type Beneficiary struct {
	Name        string `json:"name,omitempty"`        // of the person or the company, as the bank knows it
	Document    string `json:"document,omitempty"`    // tax id: letters and digits alone
	Bank        string `json:"bank,omitempty"`        // the bank's code in its country
	Branch      string `json:"branch,omitempty"`      // digits
	AccountType string `json:"accountType,omitempty"` // checking or savings
	Email       string `json:"email,omitempty"`
	Country     string `json:"country,omitempty"` // of the bank, ISO 3166 alpha-3
}

// HolderField names what some destinations need of a beneficiary.
type HolderField string

// The fields, called as in the API.
const (
	HolderName     HolderField = "holderName"
	HolderDocument HolderField = "holderDocument"
	BankCode       HolderField = "bankCode"
	BranchCode     HolderField = "branchCode"
	AccountType    HolderField = "accountType"
	HolderEmail    HolderField = "holderEmail"
	BankCountry    HolderField = "bankCountry"
)

// Has lists the fields that are known, in order.
func (b Beneficiary) Has() (list []HolderField) {
	for _, f := range []struct {
		field HolderField
		value string
	}{{HolderName, b.Name}, {HolderDocument, b.Document}, {BankCode, b.Bank}, {BranchCode, b.Branch},
		{AccountType, b.AccountType}, {HolderEmail, b.Email}, {BankCountry, b.Country}} {
		if f.value != "" {
			list = append(list, f.field)
		}
	}
	return list
}
