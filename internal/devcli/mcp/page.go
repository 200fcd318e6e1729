package mcp

import (
	"encoding/json"
	"fmt"
)

const (
	// maxData bounds what a result has of an answer, in bytes of JSON: agents read little at a time.
	maxData = 48 << 10
	// maxRaw bounds an answer that is cleaned.
	maxRaw = 4 << 20
)

// page is an answer of the API as a result: cleaned, and small enough.
func (d *door) page(raw json.RawMessage) (result, error) {
	if len(raw) > maxRaw {
		return result{}, fmt.Errorf("the answer is larger than %d MB: ask for fewer rows", maxRaw>>20)
	}
	cursor, own := cursorsOf(raw)
	clean, err := d.clean(raw)
	if err != nil {
		return result{}, err
	}
	object, isObject := clean.(map[string]any)
	rows, isList := object["data"].([]any)
	if !isObject || !isList {
		return single(clean), nil
	}
	out := result{Data: object, Next: cursor}
	object["data"] = nil
	fit, bytes := 0, size(object)
	for fit < len(rows) && bytes <= maxData {
		if bytes += size(rows[fit]) + 1; bytes <= maxData {
			fit++
		}
	}
	object["data"] = rows[:fit]
	switch {
	case fit == len(rows):
	case fit == 0:
		out.Next, out.Note = "", "the first row is too large to be shown: read it by its id, or in the dashboard"
	default:
		out.Next, out.Note = "", fmt.Sprintf("only the first %d rows fit: \"next\" leads to the others", fit)
		if len(own) >= fit {
			out.Next = own[fit-1]
		}
	}
	if paging, ok := object["pagination"].(map[string]any); ok { // "next" says it
		delete(paging, "nextCursor")
		delete(paging, "offset")
	}
	return out, nil
}

// cursorsOf is the cursor of the next page, and those that each row would have: its id.
func cursorsOf(raw json.RawMessage) (next string, rows []string) {
	var list struct {
		Data       []struct{ ID string }
		Pagination struct{ NextCursor string }
	}
	if json.Unmarshal(raw, &list) != nil || !idText.MatchString(list.Pagination.NextCursor) && list.Pagination.NextCursor != "" {
		return "", nil
	}
	for _, r := range list.Data {
		if !idText.MatchString(r.ID) {
			return list.Pagination.NextCursor, nil
		}
		rows = append(rows, r.ID)
	}
	return list.Pagination.NextCursor, rows
}

// single is one thing as a result. What is too large loses the ends of its texts and lists.
func single(clean any) result {
	out := result{Data: clean}
	for _, most := range []struct{ text, rows int }{{500, 50}, {200, 10}, {80, 3}} {
		if size(out.Data) <= maxData {
			return out
		}
		out.Data, out.Note = shorten(out.Data, most.text, most.rows), fmt.Sprintf("cut: texts of more than %d bytes, and lists of more than %d rows", most.text, most.rows)
	}
	if size(out.Data) > maxData {
		return result{Note: "it is too large to be shown: read it in the dashboard"}
	}
	return out
}

func shorten(v any, text, rows int) any {
	switch v := v.(type) {
	case map[string]any:
		short := make(map[string]any, len(v))
		for name, value := range v {
			short[name] = shorten(value, text, rows)
		}
		return short
	case []any:
		short := make([]any, 0, rows)
		for _, value := range v[:min(len(v), rows)] {
			short = append(short, shorten(value, text, rows))
		}
		return short
	case string:
		return cleaner{}.bounded(v, text)
	}
	return v
}

// size is the length of a value as JSON.
func size(v any) int {
	text, err := json.Marshal(v)
	if err != nil { // it was read from JSON
		return maxRaw
	}
	return len(text)
}
