package people_test

import (
	"os"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
)

// docs/DASHBOARD.md has the table of rights as the code has it.
func TestRolesAreAsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/DASHBOARD.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, right := range merchants.PeopleRights() {
		_, rest, found := strings.Cut(string(text), "\n| `"+string(right)+"` | ")
		if !found {
			t.Errorf("the table lacks the right %s", right)
			continue
		}
		line, _, _ := strings.Cut(rest, "\n")
		cells := strings.Split(line, "|")[1:]
		for i, role := range people.Roles() {
			want := ""
			switch {
			case role.May(right, true):
				want = "yes"
			case role.May(right, false):
				want = "sandbox"
			}
			if got := strings.TrimSpace(cells[i]); got != want {
				t.Errorf("%s of %s is documented as %q, want %q", right, role, got, want)
			}
			if role.May(right, true) && !role.May(right, false) {
				t.Errorf("%s has the right %s in production and not in the sandbox", role, right)
			}
		}
	}
}

// Nobody gives rights that they do not have.
func TestNobodyGivesMoreThanTheyHave(t *testing.T) {
	for giver, want := range map[people.Role]string{
		people.Owner: "owner admin developer support finance viewer", people.Admin: "admin developer support viewer",
		people.Developer: "", people.Support: "", people.Finance: "", people.Viewer: "", "": "", "root": "",
	} {
		var may []string
		for _, role := range append(people.Roles(), "root") {
			if giver.MayGive(role) {
				may = append(may, string(role))
			}
		}
		if got := strings.Join(may, " "); got != want {
			t.Errorf("%q gives %q, want %q", giver, got, want)
		}
	}
}

func TestPasswordsThatAreEasyToGuessAreRefused(t *testing.T) {
	for password, good := range map[string]bool{
		"correct horse battery": true, "password123": false, "1234567890": false, "Qwertyuiop": false, "cascada2026!": false, "ñandúñandú": true, "short": false, "aaaaaaaaaaaaaa": false, "abababababab": false, "ana.perez@shop.example": false, "ana.perez1": false,
		"Tienda-Azul-2026": false, "tiendaazul99": false, "perez@shop.example": false, "Cascada Pay 26": false, "tienda azul de los gatos": true,
		"butterfly123": false, "!Liverpool1": false, "1qaz2wsx3edc4rfv": false, "basketball": false, "christopher1": false, "horse-christopher-lamp": true,
		strings.Repeat("long password ", 20): false,
	} {
		if err := people.CheckPassword(password, "ana.perez@shop.example", "Ana Pérez", "Tienda Azul"); (err == nil) != good {
			t.Errorf("%q: %v", password, err)
		}
	}
}
