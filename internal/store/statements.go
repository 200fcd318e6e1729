package store

// The statements of the package, told where each is written: the engine makes its own form of
// each once, and the tests prepare and explain them all.
var (
	statements []string
	// standalones are those that write outside the group commit: they do not ask {unless lost}.
	standalones = map[string]bool{}
)

// statement makes a text known as one of the package's.
func statement(text string) string {
	statements = append(statements, text)
	return text
}

// standalone is statement for what writes by itself, outside the group commit.
func standalone(text string) string {
	standalones[text] = true
	return statement(text)
}
