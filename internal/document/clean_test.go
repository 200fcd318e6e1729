package document

import "testing"

func TestCopiedNumbersAreCleaned(t *testing.T) {
	for text, want := range map[string]string{
		"529\u00a0982\u202f247\u201325": "529 982 247-25", "\ufeff529.982.247\u201125\u200b": "529.982.247-25", "\u202a+5511987654321\u202c": "+5511987654321",
		"N\u0303AN850101AB5": "ÑAN850101AB5", "12\u2212345": "12-345", "a\x00b": "a\x00b", " 1\t": "1", "": "",
	} {
		if got := Clean(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"529\u00a0982\u00a0247\u201325", "\u2066529.982.247\u201125\u2069", "529\u200b98224725"} {
		if number, ok := Check("BRA", "CPF", text); !ok || number != "52998224725" {
			t.Errorf("%q is %q", text, number)
		}
	}
	if number, ok := Check("MEX", "RFC", "N\u0303N\u0303N\u0303850101AB5"); !ok || number != "ÑÑÑ850101AB5" {
		t.Errorf("a decomposed RFC is %q", number)
	}
}
