package cli

import "github.com/cascadapay/cascada/internal/message"

// Shown is an error as the terminal shows it: what is data for programs is a sentence.
func Shown(err error) error {
	if text := message.Sentence(err); err != nil && text != err.Error() {
		return &shown{err, text}
	}
	return err
}

type shown struct {
	error
	text string
}

func (s *shown) Error() string { return s.text }
func (s *shown) Unwrap() error { return s.error }
