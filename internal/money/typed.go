package money

import "strings"

// Typed reads an amount that somebody typed. People write the decimals after a comma or a point, and may separate
// thousands by the other one or by spaces. A single mark before exactly three digits separates thousands if it is the one
// that the reader's language has for them: thousands, a comma or a point. ok is false for what is no amount above zero, and for what can be read in two ways: such
// as 1.000 in English, or a mark too many.
func Typed(thousands, text string, c Currency) (a Amount, ok bool) {
	text = strings.NewReplacer("\u00a0", " ", "\u202f", " ", "'", " ", "\u2019", " ").Replace(strings.TrimSpace(text))
	if text == "" || strings.Trim(text, "0123456789., ") != "" || !c.Valid() {
		return a, false
	}
	whole, decimals, group := text, "", ""
	points, commas := strings.Count(text, "."), strings.Count(text, ",")
	switch {
	case points+commas == 0:
	case points > 0 && commas > 0:
		at := strings.LastIndexAny(text, ".,")
		whole, decimals, group = text[:at], text[at:], map[byte]string{'.': ",", ',': "."}[text[at]]
	case points+commas > 1:
		group = text[strings.IndexAny(text, ".,"):][:1]
	default:
		at := strings.IndexAny(text, ".,")
		three := len(text)-at == len(".000")
		switch {
		case three && text[at:at+1] == thousands:
			group = thousands
		case three && c.Exponent() < 3:
			return a, false
		default:
			whole, decimals = text[:at], text[at:]
		}
	}
	if strings.Contains(whole, " ") {
		if group != "" {
			return a, false
		}
		group = " "
	}
	if group != "" {
		parts := strings.Split(whole, group)
		for i, part := range parts {
			if i == 0 && (part == "" || len(part) > 3) || i > 0 && len(part) != 3 {
				return a, false
			}
		}
		whole = strings.Join(parts, "")
	}
	if decimals != "" {
		whole += "." + decimals[1:]
	}
	a, err := Parse(whole, c) // refuses a mark or a space that is left
	return a, err == nil && a.IsPositive()
}
