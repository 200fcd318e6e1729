// Command trim reads the service's document of the admin API and writes it for the generator: all errors of an operation are one
// reply, and a number is a text of digits, so that no amount becomes a float.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	var doc map[string]any
	if err := json.NewDecoder(os.Stdin).Decode(&doc); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, item := range doc["paths"].(map[string]any) {
		for _, operation := range item.(map[string]any) {
			replies := operation.(map[string]any)["responses"].(map[string]any)
			for status, reply := range replies {
				if status[0] == '2' {
					delete(reply.(map[string]any), "headers")
					continue
				}
				delete(replies, status)
				replies["default"] = map[string]any{"description": "It is refused.", "content": reply.(map[string]any)["content"]}
			}
		}
	}
	exact(doc)
	doc["servers"] = []any{}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	if err := out.Encode(doc); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// exact lets every number that is not a float64 on purpose be read as a json.Number.
func exact(v any) {
	switch v := v.(type) {
	case map[string]any:
		if v["type"] == "number" {
			v["x-go-type"] = "json.Number"
		}
		if more, open := v["additionalProperties"].(bool); open && more { // a later version may reply with more fields
			delete(v, "additionalProperties")
		}
		if forms, _ := v["anyOf"].([]any); len(forms) == 2 && forms[1].(map[string]any)["type"] == "null" { // nil says the same
			delete(v, "anyOf")
			v["$ref"] = forms[0].(map[string]any)["$ref"]
		}
		for _, below := range v {
			exact(below)
		}
	case []any:
		for _, below := range v {
			exact(below)
		}
	}
}
