package merchants

import (
	"net/http"

	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
)

// What a role may do with a right.
const (
	everywhere = "yes"
	sandbox    = "sandbox"
	nowhere    = "no"
)

// mayDo is a line of the table of rights.
type mayDo struct {
	Right merchants.Right
	Roles []roleMay
}

// roleMay says where a role has a right.
type roleMay struct {
	Role people.Role
	May  string
}

// rightsTable is what each role may do, as the server decides it.
func rightsTable() []mayDo {
	var table []mayDo
	for _, right := range merchants.PeopleRights() {
		line := mayDo{Right: right}
		for _, role := range people.Roles() {
			may := nowhere
			switch {
			case role.May(right, true):
				may = everywhere
			case role.May(right, false):
				may = sandbox
			}
			line.Roles = append(line.Roles, roleMay{role, may})
		}
		table = append(table, line)
	}
	return table
}

func (p *shopPages) roles(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return p.room.Show(w, r, v, "roles", struct {
		Roles  []people.Role
		Rights []mayDo
	}{people.Roles(), rightsTable()})
}
