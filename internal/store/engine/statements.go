package engine

// The statements of who speaks to a database, told where each is written: the engine makes its own form of
// each once, and the tests prepare and explain them all.
var (
	Statements []string
	// Standalones are those that write outside the group commit: they do not ask {unless lost}.
	Standalones = map[string]bool{}
)

// Statement makes a text known. It is called while a program starts, for package variables alone.
func Statement(text string) string {
	Statements = append(Statements, text)
	return text
}

// Standalone is Statement for what writes by itself, outside the group commit.
func Standalone(text string) string {
	Standalones[text] = true
	return Statement(text)
}
