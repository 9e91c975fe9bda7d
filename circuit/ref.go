package circuit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Digest is the sha256 of a circuit's zkey file: what a circuit is, whatever its name. The zero Digest means "not told".
type Digest [sha256.Size]byte

// String returns 64 lower-case hexadecimal digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// IsZero tells whether no digest is given.
func (d Digest) IsZero() bool { return d == Digest{} }

// MarshalText returns what String does.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText is ParseDigest.
func (d *Digest) UnmarshalText(text []byte) error {
	parsed, err := ParseDigest(string(text))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// ParseDigest takes 64 lower-case hexadecimal digits.
func ParseDigest(s string) (Digest, error) {
	var d Digest
	if len(s) != hex.EncodedLen(len(d)) || s != strings.ToLower(s) {
		return Digest{}, fmt.Errorf("digest %.80q: expected %d lower-case hexadecimal digits", s, hex.EncodedLen(len(d)))
	}
	if _, err := hex.Decode(d[:], []byte(s)); err != nil {
		return Digest{}, fmt.Errorf("digest %q: %w", s, err)
	}
	return d, nil
}

// Ref names a circuit: by name, and, unless Digest is zero, only that very key.
type Ref struct {
	Name   string
	Digest Digest
}

// String returns "name@digest", or "name" if there is no digest.
func (r Ref) String() string {
	if r.Digest.IsZero() {
		return r.Name
	}
	return r.Name + "@" + r.Digest.String()
}

// ParseRef takes "name@digest" or "name".
func ParseRef(s string) (Ref, error) {
	name, digest, pinned := strings.Cut(s, "@")
	if err := checkName(name); err != nil {
		return Ref{}, err
	}
	r := Ref{Name: name}
	if !pinned {
		return r, nil
	}
	var err error
	r.Digest, err = ParseDigest(digest)
	if err == nil && r.Digest.IsZero() {
		err = errors.New("digest is all zero")
	}
	if err != nil {
		return Ref{}, fmt.Errorf("circuit %s: %w", name, err)
	}
	return r, nil
}

// ValidName tells whether name can be a circuit's: 1 to 64 of A-Z, a-z, 0-9, '_' and '-', so that it is a token of a NATS subject
// and a file name alike.
func ValidName(name string) bool {
	if len(name) == 0 || len(name) > 64 {
		return false
	}
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

func checkName(name string) error {
	if !ValidName(name) {
		return fmt.Errorf("circuit name %.80q: expected 1 to 64 of A-Z, a-z, 0-9, _ and -", name)
	}
	return nil
}
