package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/danielgtaylor/huma/v2"
)

// NoBody refuses what is sent to an operation without a body, such as an amount to cancel: none of it is read, in whatever form it is.
// Nothing, and what programs send for nothing, is accepted (ERR-30).
//
// Errors: invalid_request.
func NoBody(op *huma.Operation, r *http.Request) error {
	if op.RequestBody != nil || r.Body == nil || r.Body == http.NoBody || r.Method == http.MethodGet {
		return nil
	}
	sent, err := io.ReadAll(io.LimitReader(r.Body, mostUnread))
	if text := string(bytes.TrimSpace(sent)); err == nil && slices.Contains([]string{"", "{}", "null", "[]", `""`}, text) {
		return nil
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(sent, &fields) != nil || len(fields) == 0 {
		return message.Refusal(problem.InvalidRequest, "this call takes no body: leave it out")
	}
	var issues []Issue
	for _, name := range slices.Sorted(maps.Keys(fields))[:min(mostStrangers, len(fields))] {
		issues = append(issues, Issue{Path: clip(name), Message: "there is no field " + clip(name) + ": this call takes no body"})
	}
	return Invalid(issues...)
}

// mostUnread is how many bytes are read of a body that an operation does not have, to name its fields in the reply.
const mostUnread = 8 << 10
