package service

import (
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"
)

// Logger returns the logger that the configuration asks for, writing to w.
func (c *Config) Logger(w io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Log)); err != nil {
		level = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: legible}
	if c.LogFormat == "json" || c.LogFormat == "auto" && !terminal(w) {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// legible writes durations in JSON as in text, with their unit, and not as a number of nanoseconds.
func legible(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
