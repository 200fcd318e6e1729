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

// Every kind has an example that passes.
func TestExamplesPass(t *testing.T) {
	for kind := range checks {
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
		for known := range checks {
			Check(known[:3], known[4:], text)
		}
		Check("", kind, text)
	})
}
