package frame

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestEveryPageRenders(t *testing.T) {
	_, r := start(t)
	for _, name := range r.Pages() {
		w := httptest.NewRecorder()
		if err := r.Show(w, httptest.NewRequest(http.MethodGet, "/dashboard/shp_1/sandbox/"+name, nil), visit("payments", false, "es"), name, sample()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
