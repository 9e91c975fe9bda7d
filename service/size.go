package service

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes. Zero stands for auto.
type Size int64

var sizeUnits = []struct {
	suffix string
	bytes  float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}, {"", 1}}

// UnmarshalText takes auto, or a positive number with an optional unit: B, KB, MB, GB, TB, KiB, MiB, GiB, TiB.
func (s *Size) UnmarshalText(text []byte) error {
	v := strings.TrimSpace(string(text))
	if v == "auto" {
		*s = 0
		return nil
	}
	for _, u := range sizeUnits {
		digits, ok := strings.CutSuffix(v, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		if b := n * u.bytes; err == nil && b >= 1 && b < math.MaxInt64 {
			*s = Size(b)
			return nil
		}
		break
	}
	return fmt.Errorf("%q is no size", v)
}

// String is exact where the size is a whole number of a unit, else rounded to a tenth.
func (s Size) String() string {
	switch {
	case s == 0:
		return "auto"
	case s < 1<<10:
		return fmt.Sprintf("%dB", int64(s))
	case s < 1<<20:
		return trimmed(float64(s)/(1<<10)) + "KiB"
	case s < 1<<30:
		return trimmed(float64(s)/(1<<20)) + "MiB"
	}
	return trimmed(float64(s)/(1<<30)) + "GiB"
}

func trimmed(v float64) string { return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0") }
