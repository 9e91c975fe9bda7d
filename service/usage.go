package service

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Key describes one environment variable.
type Key struct {
	Name    string // with the prefix
	Default string // empty: none
	Doc     string
	Form    string // values that it takes
}

// Keys lists every environment variable, in the order of Config.
func Keys() []Key {
	t := reflect.TypeFor[Config]()
	keys := make([]Key, t.NumField())
	for i := range keys {
		keys[i] = keyOf(t.Field(i))
	}
	return keys
}

func keyOf(f reflect.StructField) Key {
	return Key{Name: Prefix + f.Tag.Get("env"), Default: f.Tag.Get("envDefault"), Doc: f.Tag.Get("doc"), Form: f.Tag.Get("form")}
}

// keyNamed finds a key by its name without the prefix. Names in this package are constants, so that a miss is a mistake in it.
func keyNamed(env string) Key {
	keys := Keys()
	i := slices.IndexFunc(keys, func(k Key) bool { return k.Name == Prefix+env })
	if i < 0 {
		panic("service: no configuration key " + env)
	}
	return keys[i]
}

// Usage writes the table of all environment variables: name, default, meaning and form.
func Usage(w io.Writer) error {
	var b strings.Builder
	for _, k := range Keys() {
		def := k.Default
		if def == "" {
			def = "(empty)"
		}
		fmt.Fprintf(&b, "  %-25s %s\n  %-25s %s\n  %-25s takes %s\n", k.Name, def, "", k.Doc, "", k.Form)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// serviceLink matches what Kubernetes and Docker put into the environment of every container beside a service called pinion or
// pinion-something. They are not ours, and not a mistake.
var serviceLink = regexp.MustCompile(`^PINION_([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// unknownVariables reports variables with our prefix that nothing reads: most often a misspelt key, whose default would then
// hold in silence.
func unknownVariables(vars map[string]string) (faults []error) {
	keys := Keys()
	known := make(map[string]bool, len(keys))
	for _, k := range keys {
		known[k.Name] = true
	}
	var unknown []string
	for name := range vars {
		if strings.HasPrefix(name, Prefix) && !known[name] && !serviceLink.MatchString(name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		faults = append(faults, errors.New(name+": unknown variable"+suggestion(name, keys)))
	}
	return faults
}

func suggestion(name string, keys []Key) string {
	word := name[len(Prefix):]
	best, at := "", 2+len(word)/3 // nearer than that is a misspelling
	for _, k := range keys {
		if d := distance(word, k.Name[len(Prefix):]); d < at {
			best, at = k.Name, d
		}
	}
	if best == "" {
		return "; pinion serve --help lists them"
	}
	return "; did you mean " + best + "?"
}

// distance is Levenshtein's: the least number of insertions, deletions and substitutions of bytes that make a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
