package mercadopago

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

func (f *fake) chargeback(id string) (int, any) {
	p := f.find(strings.TrimPrefix(id, "77"))
	if p == nil {
		return http.StatusNotFound, map[string]any{"message": "Case for " + id + " doesn't exist", "error": "not_found", "status": 404, "cause": []any{}}
	}
	one := map[string]any{
		"id": id, "payments": []int64{p.id}, "currency": p.amount.Currency, "amount": json.Number(p.amount.Decimal()), "reason": "general",
		"coverage_applied": nil, "coverage_elegible": true, "documentation_required": true, "documentation_status": "pending", "documentation": []any{},
		"date_documentation_deadline": "2026-12-01T12:00:00.000-04:00", "date_created": "2026-11-22T12:00:00.000-04:00",
		"date_last_updated": fmt.Sprintf("2026-11-22T12:00:%02d.000-04:00", len(f.cases)), "live_mode": true,
	}
	f.papers.show(one)
	maps.Copy(one, f.cases)
	maps.Copy(one, f.decided[id])
	maps.DeleteFunc(one, func(name string, is any) bool { return is == nil && (name == "payments" || name == "currency") }) // the SDKs' form
	return http.StatusOK, one
}

// chargebacks is a search, which demands a payment.
func (f *fake) chargebacks(q url.Values) (int, any) {
	p := f.find(q.Get("payment_id"))
	switch {
	case f.barred:
		return http.StatusForbidden, map[string]any{"code": "PA_UNAUTHORIZED_RESULT_FROM_POLICIES", "message": "At least one policy returned UNAUTHORIZED.", "status": 403}
	case q.Get("payment_id") == "":
		return fail(http.StatusBadRequest, "Wrong parameters in Search Cases", 0)
	}
	found := []any{}
	if p != nil && p.status == "charged_back" {
		_, one := f.chargeback("77" + q.Get("payment_id"))
		found = append(found, one)
	}
	return http.StatusOK, map[string]any{"paging": map[string]any{"offset": 0, "limit": 25, "total": len(found)}, "results": found}
}

// claim is about the payment whose id its own ends with.
func (f *fake) claim(id string) (int, any) {
	if f.barred {
		return http.StatusForbidden, map[string]any{"code": "PA_UNAUTHORIZED_RESULT_FROM_POLICIES", "status": 403}
	}
	payment, _ := strconv.ParseInt(strings.TrimPrefix(id, "88"), 10, 64)
	return http.StatusOK, map[string]any{"id": json.Number(id), "type": "mediations", "stage": "claim", "status": "opened", "resource": "payment", "resource_id": payment}
}
