package engine

// The statements of everybody who uses a database, registered where they are written: the engine makes its
// own form of each once, and the tests prepare and explain them all.
var (
	Statements []string
	// Standalones are the statements that write outside the group commit: they do not use {unless lost}.
	Standalones = map[string]bool{}
)

// Statement registers a text. Call it only for package variables, while the program starts.
func Statement(text string) string {
	Statements = append(Statements, text)
	return text
}

// Standalone is Statement for texts that write outside the group commit.
func Standalone(text string) string {
	Standalones[text] = true
	return Statement(text)
}
