package circuit

import (
	"errors"
	"fmt"
)

var (
	// ErrUnknownCircuit: the catalogue has no circuit of that name.
	ErrUnknownCircuit = errors.New("unknown circuit")
	// ErrDigestMismatch: the catalogue has a circuit of that name, but with another key.
	ErrDigestMismatch = errors.New("the circuit has another digest")
	// ErrExists: the catalogue already has a circuit of that name, with another key or other files.
	ErrExists = errors.New("a circuit of this name is there already")
	// ErrAmbiguous: several circuits of that name came from elsewhere, and the reference has no digest.
	ErrAmbiguous = errors.New("the name means several circuits, so it needs a digest")
	// ErrBusy: another goroutine or process is receiving the circuit.
	ErrBusy = errors.New("the circuit is being received already")
	// ErrNoCalculator: the circuit was added without its witness calculator, so it proves ready witnesses only.
	ErrNoCalculator = errors.New("the circuit has no witness calculator (wasm)")
)

// FormatError tells what is wrong with a file.
type FormatError struct {
	File     string // base name of the file, or what the stream is ("witness")
	Section  uint32 // type of the section, 0 if it is not in one
	Offset   int64  // byte of the file where it was found
	Found    string
	Expected string
}

func (e *FormatError) Error() string {
	where := fmt.Sprintf("%s: ", e.File)
	if e.Section != 0 {
		where += fmt.Sprintf("section %d ", e.Section)
	}
	return fmt.Sprintf("%sat byte %d: found %s, expected %s", where, e.Offset, e.Found, e.Expected)
}

// UnsatisfiedError names the first constraint that a witness does not satisfy, counted from 0 as in the r1cs file.
type UnsatisfiedError struct {
	Constraint int
}

func (e *UnsatisfiedError) Error() string {
	return fmt.Sprintf("the witness does not satisfy constraint %d", e.Constraint)
}
