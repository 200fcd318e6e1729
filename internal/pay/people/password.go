package people

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the list
	"slices"
	"strings"
	"sync"

	"github.com/cascadapay/cascada/internal/pay/problem"
)

// The length of a password, in characters. The longest bounds the work of hashing it.
const (
	LeastPassword = 10
	MostPassword  = 200
)

const (
	// leastWord is the shortest word about a user that is looked for in the password, and leastRest how many characters must
	// be left without such words.
	leastWord = 4
	leastRest = 8
	// around is how many characters other than letters may surround a password that still counts as common.
	around = 6
)

// words are those that passwords most often consist of, apart from any digits around them.
var words = []string{
	"", "password", "passwort", "contraseña", "contrasena", "senha", "qwerty", "qwertyuiop", "asdfghjkl", "letmein", "welcome", "bienvenido", "bemvindo",
	"admin", "administrator", "administrador", "iloveyou", "teamo", "teamomucho", "cascada", "cascadapay", "dashboard", "q1w2e3r4t5", "1q2w3e4r5t", "1qaz2wsx3edc",
	"abcdefghij", "abcdefghijk", "changeme", "trustno", "superman", "princess", "princesa", "football", "futbol", "baseball", "sunshine", "monkey", "dragon",
}

//go:embed common.txt.gz
var commonFile []byte

// common are the passwords that people use most: those that are long enough, and shorter ones without digits at their ends.
// docs/decisions/libraries.md says where they are from.
var common = sync.OnceValue(func() map[string]bool {
	list := map[string]bool{}
	r, err := gzip.NewReader(bytes.NewReader(commonFile))
	if err != nil {
		panic(err) // the file is in the program
	}
	var text bytes.Buffer
	if _, err := text.ReadFrom(r); err != nil {
		panic(err)
	}
	for line := range strings.Lines(text.String()) {
		list[strings.TrimSuffix(line, "\n")] = true
	}
	return list
})

// isCommon reports whether a password in lower case is one that is tried first, also with a few digits around it.
func isCommon(lower string) bool {
	base := strings.Trim(lower, "0123456789!.@#$*?-_+&% ")
	return slices.Contains(words, base) || slices.Contains(words, lower) || common()[lower] || len(lower)-len(base) <= around && common()[base]
}

// CheckPassword returns an error for a password that is too easy to guess (DASH-1): too short, too long, a few characters
// repeated, one that many people use, or one made of words about the user: the e-mail address, the name, the merchants'
// names.
//
// Errors: invalid_request.
func CheckPassword(password string, about ...string) error {
	n := len([]rune(password))
	refuse := func(why problem.Reason) error { return problem.Field(problem.InvalidRequest, "password", why) }
	lower := strings.ToLower(password)
	switch {
	case n < LeastPassword:
		return refuse(passwordShort)
	case n > MostPassword:
		return refuse(passwordLong)
	case len(slices.Compact(slices.Sorted(slices.Values([]rune(password))))) < 4:
		return refuse(passwordRepeats)
	case isCommon(lower):
		return refuse(passwordCommon)
	case len([]rune(without(lower, about))) < leastRest:
		return refuse(passwordPersonal)
	}
	return nil
}

// without is a password without the words about its user. The longest go first.
func without(lower string, about []string) string {
	all := []string{"cascada"}
	for _, text := range about {
		text = strings.ToLower(text)
		parts := strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" .,@-_+", c) })
		local, _, _ := strings.Cut(text, "@")
		all = append(all, append(parts, text, local, strings.Join(parts, ""))...)
	}
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	for _, word := range all {
		if len([]rune(word)) >= leastWord {
			lower = strings.ReplaceAll(lower, word, "")
		}
	}
	return lower
}
