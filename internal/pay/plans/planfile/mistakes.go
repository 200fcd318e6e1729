package planfile

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// mostMistakes is how many mistakes of a file are shown.
const mostMistakes = 20

var (
	// A name and a value may be empty or have several lines, and a tag may be any text.
	unknownField = regexp.MustCompile(`(?s)field (.*) not found in type .+`)
	wrongType    = regexp.MustCompile("(?s)cannot unmarshal .+ into .+")
)

// plain turns errors of the decoder into the file's words, without the names of our types.
func plain(err error) error {
	var wrong *yaml.TypeError
	if !errors.As(err, &wrong) {
		return errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	var list []error
	for i, line := range wrong.Errors {
		if i == mostMistakes {
			list = append(list, fmt.Errorf("and %d mistakes more", len(wrong.Errors)-i))
			break
		}
		line = unknownField.ReplaceAllString(line, `there is no field "$1" here`)
		list = append(list, errors.New(wrongType.ReplaceAllString(line, "this has another form: see docs/PLANS.md")))
	}
	return errors.Join(list...)
}
