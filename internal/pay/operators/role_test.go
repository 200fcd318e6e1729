package operators_test

import (
	"os"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/pay/operators"
)

// docs/ADMIN.md has the table of rights as the code has it.
func TestRolesAreAsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/ADMIN.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, right := range operators.Rights() {
		_, rest, found := strings.Cut(string(text), "\n| `"+string(right)+"` | ")
		if !found {
			t.Errorf("the table lacks the right %s", right)
			continue
		}
		line, _, _ := strings.Cut(rest, "\n")
		cells := strings.Split(line, "|")[1:]
		for i, role := range operators.Roles() {
			want := ""
			if role.May(right) {
				want = "yes"
			}
			if got := strings.TrimSpace(cells[i]); got != want {
				t.Errorf("%s of %s is documented as %q, want %q", right, role, got, want)
			}
		}
	}
	if operators.Role("root").May(operators.View) {
		t.Error("an unknown role has a right")
	}
}

// A role within another one never has a right that one of the two lacks.
func TestARoleWithinAnotherHasTheRightsOfBoth(t *testing.T) {
	all := append(operators.Roles(), "")
	for _, one := range all {
		for _, other := range all {
			within := one.Within(other)
			for _, right := range operators.Rights() {
				if within.May(right) && !(one.May(right) && other.May(right)) {
					t.Errorf("%q within %q has the right %s", one, other, right)
				}
			}
			if one == other && within != one || one != "" && other != "" && !within.May(operators.View) {
				t.Errorf("%q within %q is %q", one, other, within)
			}
		}
	}
}
