package frame

import (
	"fmt"
	"html/template"
)

// icons are lines in a square of 24, by name. Those of the navigation have the keys of its items.
var icons = map[string]string{
	"home":           "M4 11l8-7 8 7M6 9.5V20h4.5v-5h3v5H18V9.5",
	"payments":       "M3 7.5A1.5 1.5 0 014.5 6h15A1.5 1.5 0 0121 7.5v9a1.5 1.5 0 01-1.5 1.5h-15A1.5 1.5 0 013 16.5zM3 10h18M6.5 14.5h4",
	"refunds":        "M9 7L4 11l5 4M4 11h10a5 5 0 010 10h-2",
	"disputes":       "M12 4l9 16H3zM12 10v4.5M12 17.200v.1",
	"balance":        "M4 9h16M5 9l7-5 7 5M6 9v8M10 9v8M14 9v8M18 9v8M4 20h16M5 17h14",
	"settlements":    "M6 3h9l4 4v14H6zM14.5 3v4.5H19M9 12h7M9 16h7",
	"withdrawals":    "M12 4v11M7.5 10.5L12 15l4.5-4.5M4 19.5h16",
	"analytics":      "M4 20V4M4 20h16M8 16v-4M12 16V8M16 16v-6",
	"keys":           "M14.5 9.5a4 4 0 10-3.600 4l1.600 1.5h2v2h2v2.5h3.5v-3L14.300 11M9 9.5v.1",
	"webhooks":       "M9.5 8.5a3 3 0 115 0l3 6M12 7l-4 8a3 3 0 11-2-2.5M17 17h-6.5M19 14.700a3 3 0 11-2 4.5",
	"events":         "M13 3L5 14h6l-1 7 8-11h-6z",
	"requests":       "M8 7l-5 5 5 5M16 7l5 5-5 5M13.5 5l-3 14",
	"sandbox":        "M9 3h6M10 3v6l-5 9a2 2 0 002 3h10a2 2 0 002-3l-5-9V3M7.5 14h9",
	"api":            "M5 4h14v16H5zM9 8h6M9 12h6M9 16h3",
	"shop":           "M4 10v10h16V10M3 10l2-6h14l2 6zM3 10a3 3 0 006 0 3 3 0 006 0 3 3 0 006 0M10 20v-5h4v5",
	"team":           "M9 11a3.5 3.5 0 100-7 3.5 3.5 0 000 7zM2.5 20a6.5 6.5 0 0113 0M16 4.300a3.5 3.5 0 010 6.400M18 14.5a6.5 6.5 0 013.5 5.5",
	"overview":       "M4 4h7v7H4zM13 4h7v4h-7zM13 10h7v10h-7zM4 13h7v7H4z",
	"merchants":      "M4 20V6l7-3v17M11 9l8 2v9M3 20h18M7 9v.1M7 13v.1M15 14v.1M7 16.5v.1",
	"attention":      "M6 10a6 6 0 0112 0c0 5 2 6 2 7H4c0-1 2-2 2-7zM10 20.5a2.200 2.200 0 004 0",
	"providers":      "M4 7h16v4H4zM4 14h16v4H4zM7.5 9v.1M7.5 16v.1",
	"plans":          "M6 3h9l4 4v14H6zM9 12h7M9 16h7M9 8h3",
	"rules":          "M5 5v5a4 4 0 004 4h10M15 10l4 4-4 4M5 5h14",
	"rates":          "M4 8h13M14 4.5L17.5 8 14 11.5M20 16H7M10 12.5L6.5 16l3.5 3.5",
	"payouts":        "M12 20V9M7.5 13.5L12 9l4.5 4.5M4 4.5h16",
	"adjustments":    "M12 4v10M7 9h10M7 19h10",
	"reconciliation": "M12 4v16M6 20h12M5 8h14M5 8l-3 6a3.300 3.300 0 006 0zM19 8l-3 6a3.300 3.300 0 006 0z",
	"health":         "M3 12h4l2.5-6 4 12L16 12h5",
	"machine":        "M4 5h16v5H4zM4 14h16v5H4zM8 7.500v.1M8 16.500v.1M12 7.500h5M12 16.500h5",
	"seals":          "M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6zM9 12l2.200 2.200L15.500 10",
	"audit":          "M6 3h12v18H6zM9 8h6M9 12h6M9 16h3",
	"operators":      "M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6zM9 12l2 2 4-4",
	"search":         "M11 18a7 7 0 100-14 7 7 0 000 14zM16 16l5 5",
	"menu":           "M4 7h16M4 12h16M4 17h16",
	"close":          "M6 6l12 12M18 6L6 18",
	"down":           "M7 10l5 5 5-5",
	"right":          "M10 7l5 5-5 5",
	"left":           "M14 7l-5 5 5 5",
	"sort":           "M8 9l4-4 4 4M8 15l4 4 4-4",
	"up":             "M8 13l4-4 4 4",
	"help":           "M12 21a9 9 0 100-18 9 9 0 000 18zM9.5 9.5a2.5 2.5 0 113.5 2.300c-.7.3-1 .8-1 1.700M12 16.5v.1",
	"user":           "M12 12a4 4 0 100-8 4 4 0 000 8zM4.5 20.5a7.5 7.5 0 0115 0",
	"theme":          "M12 3a9 9 0 100 18V3z M12 3a9 9 0 010 18",
	"copy":           "M9 9h11v11H9zM5 15H4V4h11v1",
	"check":          "M5 12.5l4.5 4.5L19 7.5",
	"cross":          "M7 7l10 10M17 7L7 17",
	"clock":          "M12 21a9 9 0 100-18 9 9 0 000 18zM12 7v5l3 2",
	"dot":            "M12 14a2 2 0 100-4 2 2 0 000 4z",
	"info":           "M12 21a9 9 0 100-18 9 9 0 000 18zM12 11v5.5M12 7.700v.1",
	"warning":        "M12 4l9 16H3zM12 10v4.5M12 17.200v.1",
	"download":       "M12 4v10M8 10.5l4 4 4-4M5 19h14",
	"external":       "M14 4h6v6M20 4l-9 9M18 14v6H4V6h6",
	"filter":         "M4 6h16M7 12h10M10 18h4",
	"more":           "M5 12a1 1 0 102 0 1 1 0 10-2 0zM11 12a1 1 0 102 0 1 1 0 10-2 0zM17 12a1 1 0 102 0 1 1 0 10-2 0z",
	"plus":           "M12 5v14M5 12h14",
	"edit":           "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3",
	"trash":          "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10.5 11v5M13.5 11v5",
	"eye":            "M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12zM12 15a3 3 0 100-6 3 3 0 000 6z",
	"mail":           "M3 6h18v12H3zM3 7l9 7 9-7",
	"out":            "M14 4H5v16h9M10 12h11M17.5 8.5L21 12l-3.5 3.5",
	"retry":          "M4 12a8 8 0 0114-5.300L20 9M20 4v5h-5M20 12a8 8 0 01-14 5.300L4 15M4 20v-5h5",
	"empty":          "M4 13l3-8h10l3 8v6H4zM4 13h5l1.5 3h3L15 13h5",
	"lock":           "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 017 0v3",
}

// icon is a picture beside a text, which screen readers pass over.
func icon(name any) template.HTML {
	path, known := icons[fmt.Sprint(name)]
	if !known {
		path = icons["dot"]
	}
	return template.HTML(`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d="` + path + `"/></svg>`) //nolint:gosec // a constant
}
