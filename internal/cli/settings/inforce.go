package settings

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"
)

// InForce prints the settings, each with its source.
func InForce(out io.Writer, flags []*kong.Flag, origins map[string]Origin) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SETTING\tVALUE\tFROM")
	for _, flag := range flags {
		value := withoutSecrets(flag.Name, shown(flag))
		fmt.Fprintf(table, "%s\t%s\t%s\n", flag.Name, cmp.Or(value, "-"), origins[flag.Name].text)
	}
	for _, s := range secrets {
		if s.variable != "" && os.Getenv(s.variable) != "" {
			fmt.Fprintf(table, "%s\t(not shown)\t%s\n", s.setting, s.variable)
		}
	}
	return table.Flush()
}

// shown returns a flag's value as it would be written on the command line.
func shown(flag *kong.Flag) string {
	var parts []string
	switch value := flag.Target; {
	case flag.IsMap():
		for _, key := range value.MapKeys() {
			parts = append(parts, fmt.Sprintf("%v=%v", key, value.MapIndex(key)))
		}
		slices.Sort(parts)
	case flag.IsSlice():
		for i := range value.Len() {
			parts = append(parts, fmt.Sprint(value.Index(i)))
		}
	default:
		return fmt.Sprint(value)
	}
	return strings.Join(parts, ",")
}
