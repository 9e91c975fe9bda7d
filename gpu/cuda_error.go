package gpu

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

var (
	// ErrNoLibrary says that the CUDA library is not there, or can't be loaded.
	ErrNoLibrary = errors.New("no CUDA library")
	// ErrNoCard says that there is no such CUDA device, or no driver for it: also where the CUDA toolkit is installed and no GPU is.
	ErrNoCard = errors.New("no such CUDA device")
	// ErrMemory is the end of a call or task that found too little memory, of a card or of page-locked host memory. The device goes on.
	ErrMemory = errors.New("out of memory")
)

// VersionError says that a CUDA library has another interface than this program.
type VersionError struct {
	Path            string
	Found, Expected uint32
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("CUDA library %s has interface version %d, expected %d: library and program must be of one release",
		e.Path, e.Found, e.Expected)
}

// MemoryError says that a card has too little memory for a circuit. It wraps ErrMemory.
type MemoryError struct {
	Device     string
	Want, Free int64 // bytes
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("the circuit takes %d bytes of %s, which has %d bytes free", e.Want, e.Device, e.Free)
}

func (e *MemoryError) Unwrap() error { return ErrMemory }

// code is a result of the library.
type code int32

const (
	codeOK code = iota
	codeInvalid
	codeNoDevice
	codeOutOfMemory
	codeWitness
	codeFault
	codeInternal
)

// cError is pinion_error.
type cError struct {
	_       int32 // code: it is returned too
	message [508]byte
}

// err makes an error of what a function of the library returned, nil of codeOK.
func (e *cError) err(result int32) error {
	if code(result) == codeOK {
		return nil
	}
	text, _, _ := bytes.Cut(e.message[:], []byte{0})
	switch code(result) {
	case codeNoDevice:
		return fmt.Errorf("%w: %s", ErrNoCard, text)
	case codeOutOfMemory:
		return fmt.Errorf("%w: %s", ErrMemory, text)
	case codeFault:
		return fmt.Errorf("%w: %s", ErrFault, text)
	case codeWitness:
		return witnessError(string(text))
	case codeInvalid, codeInternal:
		return fmt.Errorf("%s", text)
	}
	return fmt.Errorf("unknown result %d: %s", result, text)
}

// witnessError makes an InputError of a text that begins with the number of the input, as the library's do.
func witnessError(text string) error {
	number, what, _ := strings.Cut(strings.TrimPrefix(text, "input "), ": ")
	if input, err := strconv.Atoi(number); err == nil {
		return &InputError{Input: input, Err: errors.New(what)}
	}
	return errors.New(text)
}
