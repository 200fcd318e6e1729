package document

import "testing"

// Numbers that authorities publish as examples, or that are widely used in
// tests, and the same ones mistyped.
func TestCheckDigits(t *testing.T) {
	for _, c := range []struct {
		country, kind, text string
		want                bool
	}{
		{"BRA", "CPF", "529.982.247-25", true}, {"BRA", "CPF", "52998224725", true}, {"BRA", "CPF", "529.982.247-26", false},
		{"BRA", "CPF", "111.111.111-11", false}, {"BRA", "CPF", "5299822472", false},
		{"BRA", "CPF", "11.222.333/0001-81", true}, {"BRA", "CPF", "11.222.333/0001-82", false},
		{"BRA", "CPF", "12.ABC.345/01DE-35", true}, // the tax office's example with letters
		{"BRA", "CPF", "12.abc.345/01de-35", true}, {"BRA", "CPF", "12.ABC.345/01DE-36", false}, {"BRA", "CPF", "12.ACB.345/01DE-35", false},
		{"BRA", "CPF", "12.ABC.345/01DE-3A", false}, {"BRA", "CPF", "12.ÁBC.345/01DE-35", false}, {"BRA", "CPF", "12ABC34501D35", false},
		{"ARG", "CUIT", "20-12345678-6", true}, {"ARG", "CUIT", "20-12345678-7", false}, {"ARG", "DNI", "12.345.678", true}, {"ARG", "DNI", "123", false},
		{"CHL", "RUT", "12.345.678-5", true}, {"CHL", "RUT", "12345678-4", false}, {"CHL", "RUT", "10000013-K", true}, {"CHL", "RUT", "30.686.957-4", true},
		{"COL", "CC", "1020304050", true}, {"COL", "CC", "79123", true}, {"COL", "CC", "8001972684", true}, {"COL", "CC", "12", false},
		{"ECU", "CI", "1710034065", true}, {"ECU", "CI", "1710034066", false}, {"ECU", "CI", "1710034065001", true}, {"ECU", "CI", "9910034065", false},
		{"MEX", "RFC", "GODE561231GR8", true}, {"MEX", "RFC", "GODE561231GR9", false}, {"MEX", "RFC", "XAXX010101000", true},
		{"MEX", "RFC", "HEGG560427MVZRRL04", true}, {"MEX", "RFC", "HEGG560427MVZRRL05", false},
		{"PER", "DNI", "12345678", true}, {"PER", "DNI", "1234567", false}, {"PER", "DNI", "20100070970", true}, {"PER", "DNI", "20100070971", false},
		{"SLV", "DUI", "00016297-5", true}, {"SLV", "DUI", "00016297-6", false},
		{"URY", "CI", "1.234.567-2", true}, {"URY", "CI", "1.234.567-3", false},
		{"CRI", "CI", "1-0123-0456", true}, {"PRY", "CI", "1234567", true}, {"BOL", "CI", "1234567-1A", true}, {"BOL", "CI", "x", false},
		{"PAN", "", "8-123-456", true}, {"PAN", "", "", false}, {"PAN", "", "<b>1234", false},
	} {
		if _, ok := Check(c.country, c.kind, c.text); ok != c.want {
			t.Errorf("%s %s %q: %v, want %v", c.country, c.kind, c.text, ok, c.want)
		}
	}
}

// Numbers of foreigners, of companies and of people with old numbers are regular, numbers with another check digit or length
// are irregular, and what no office issues is impossible.
func TestRealNumbersOfRealPeople(t *testing.T) {
	for _, c := range []struct {
		kind string
		want Verdict
		text []string
	}{
		{"MEX RFC", Regular, []string{"A&B850101AB6", "ÑÑÑ850101AB5"}},
		{"MEX RFC", Irregular, []string{"GODE561231GR9", "GODE561231GRC", "HEGG560427MVZRRL05"}},
		{"MEX RFC", Impossible, []string{"GODE561231", "123456789012", "GODEX61231GR8"}},
		{"ECU CI", Regular, []string{"0961214434", "3050000003", "0961214434001", "3050000003001", "1793221293001"}},
		{"ECU CI", Irregular, []string{"1710034066", "9910034065", "710034065"}}, {"ECU CI", Impossible, []string{"17100340A5", "17100", "0000000000"}},
		{"CHL RUT", Regular, []string{"12.345-5", "100.000.000-7", "44.444.444-4"}}, {"CHL RUT", Irregular, []string{"12.345-6", "12.345.678-k"}},
		{"CHL RUT", Impossible, []string{"12.34A.678-5", "123", "1234567890123"}},
		{"URY CI", Regular, []string{"21-100342-001-7", "211406340011"}}, {"URY CI", Irregular, []string{"211003420018", "1.234.567-3"}}, {"URY CI", Impossible, []string{"12", "1234567A"}},
		{"PER DNI", Regular, []string{"001234567", "AB123456", "G12345678"}}, {"PER DNI", Irregular, []string{"1234567", "20100070971"}}, {"PER DNI", Impossible, []string{"ABCDEFGH", "123"}},
		{"COL CC", Regular, []string{"900.123.456-8", "AV123456", "1020304050-8"}}, {"COL CC", Irregular, []string{"1020304050-7", "1234", "123456789012345"}},
		{"COL CC", Impossible, []string{"12", "MARIA", "1234567890123456"}},
		{"CRI CI", Regular, []string{"01-0123-0456", "1-0123-0456", "3-101-123456", "155812345678"}}, {"CRI CI", Impossible, []string{"1-A123-0456"}},
		{"BOL CI", Regular, []string{"E-1234567", "1234567-1A"}}, {"BOL CI", Impossible, []string{"x", "EEEEEE"}},
		{"PRY CI", Regular, []string{"1234567A-5", "80012345-6"}}, {"PRY CI", Impossible, []string{"A1234567"}},
		{"SLV DUI", Regular, []string{"0614-050707-104-8"}}, {"SLV DUI", Irregular, []string{"0614-050707-104-0", "00016297-6"}}, {"SLV DUI", Impossible, []string{"0614-05"}},
		{"BRA CPF", Irregular, []string{"529.982.247-26", "12.ABC.345/01DE-36"}}, {"BRA CPF", Impossible, []string{"5299822472", "529.982.247-2A", "000.000.000-00"}},
		{"ARG CUIT", Irregular, []string{"20-12345678-7", "12.345.678"}}, {"ARG CUIT", Impossible, []string{"20-1234567A-7", "1234"}},
	} {
		for _, text := range c.text {
			if number, got := Normalize(c.kind[:3], c.kind[4:], text); got != c.want {
				t.Errorf("%s %s (%s): %d, want %d", c.kind, text, number, got, c.want)
			}
		}
	}
	if number, _ := Check("CRI", "CI", "01-0123-0456"); number != "101230456" {
		t.Errorf("a cédula with its province in two digits is %s", number)
	}
}

// Every kind has an example that passes.
func TestExamplesPass(t *testing.T) {
	for kind := range kinds {
		if example := Example(kind[:3], kind[4:]); example == "" {
			t.Errorf("%s has no example", kind)
		} else if _, ok := Check(kind[:3], kind[4:], example); !ok {
			t.Errorf("the example %s of %s does not pass", example, kind)
		}
	}
}

// No text makes a check fail otherwise than by saying no.
func FuzzCheck(f *testing.F) {
	for kind, example := range examples {
		f.Add(kind, example)
	}
	f.Fuzz(func(t *testing.T, kind, text string) {
		for known := range kinds {
			Check(known[:3], known[4:], text)
		}
		Check("", kind, text)
	})
}
