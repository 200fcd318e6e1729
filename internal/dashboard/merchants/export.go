package merchants

import (
	"net/http"

	"github.com/cascadapay/cascada/internal/app/leaving"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// ExportsADay is how often the owners may export within a day, for the page.
func (settingsView) ExportsADay() int { return leaving.ExportsADay }

// export sends everything that is the merchant's as a file. It has all of the merchant's money, shoppers and people, so it is for its owners,
// and confirmed as what moves money out is (LEAVE-5).
func (p *shopPages) export(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if v.Role != people.Owner {
		return problem.New(problem.Forbidden, ownersExport)
	}
	if !p.Confirmed(w, r, v, v.Home()+"/shop") {
		return nil
	}
	file, err := p.NewArchive(w, v, v.Merchant.Name+"-"+p.Uses.Now().UTC().Format("2006-01-02"))
	if err != nil {
		return err
	}
	_, err = p.Uses.Leaving.ExportOwn(r.Context(), v.Actor(), v.Merchant.ID, file)
	return err
}
