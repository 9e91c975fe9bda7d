package circuit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/pinion-zk/pinion/groth16"
)

// Bounds on inputs: circom's own arrays and buses nest a few levels deep.
const (
	maxInputDepth = 64
	maxSignalName = 1024 // bytes of a qualified name
	maxSpareNames = 1024 // signals of no values, beside those that hold some
)

// An InputError tells which input signal is at fault, and why. It never holds a value.
type InputError struct {
	Signal string // qualified name, as in "a" or "b[1].c"; empty where no single signal is at fault
	Reason string
}

func (e *InputError) Error() string {
	if e.Signal == "" {
		return "inputs: " + e.Reason
	}
	return fmt.Sprintf("input signal %q: %s", e.Signal, e.Reason)
}

// A signal is one input of the circuit with its values: 32 bytes each, little-endian, below the order of the field, arrays row by row.
type signal struct {
	name   string
	values []byte
}

// A signalTable says what inputs a circuit takes.
type signalTable interface {
	// size is the number of values of a signal: 0 if the circuit has no such input, negative if that can't be told.
	size(name string) (int, error)
}

// decodeInputs reads the inputs of a circuit as circom's tools take them: a JSON object of signals, whose values are integers (numbers of
// any size, or strings as parseScalar reads them), true and false for 1 and 0, and arrays of those, nested as one likes: only the
// order counts. An object under a signal is a bus: the fields of a are the signals "a.field", those of an array's element "a[0].field".
//
// Where circom's tools guess, it refuses: null, fractions and exponents, "", spaces, values outside the field, a key given twice,
// signals that the circuit does not have, too few or too many values. total is how many values the circuit takes.
func decodeInputs(data []byte, curve groth16.Curve, total int, table signalTable) ([]signal, error) {
	d := &inputDecoder{
		json:    json.NewDecoder(bytes.NewReader(data)),
		modulus: fieldOf(curve).modulus,
		total:   total,
		table:   table,
		index:   map[string]int{},
	}
	d.json.UseNumber()
	if err := d.document(); err != nil {
		return nil, err
	}
	return d.signals, nil
}

type inputDecoder struct {
	json    *json.Decoder
	modulus scalar
	total   int
	table   signalTable
	index   map[string]int // of signals, by name
	signals []signal
	given   int // values so far
	depth   int
}

func (d *inputDecoder) document() error {
	token, err := d.token()
	if err != nil {
		return err
	}
	if token != json.Delim('{') {
		return &InputError{Reason: fmt.Sprintf("found %s, expected a JSON object of signals", kind(token))}
	}
	if err := d.object(""); err != nil {
		return err
	}
	end := d.json.InputOffset()
	if _, err := d.json.Token(); err != io.EOF {
		return &InputError{Reason: fmt.Sprintf("found more after the JSON object, which ends at byte %d", end)}
	}
	if d.given != d.total {
		return &InputError{Reason: fmt.Sprintf("%d of %d input values are set%s", d.given, d.total, d.givenNames())}
	}
	return nil
}

// givenNames lists the signals that are there, for the error about those that aren't: a calculator knows no names, only their hashes.
func (d *inputDecoder) givenNames() string {
	const most = 8
	var names []string
	for _, s := range d.signals[:min(len(d.signals), most)] {
		names = append(names, strconv.Quote(s.name))
	}
	if more := len(d.signals) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	if len(names) == 0 {
		return ""
	}
	return ", by " + strings.Join(names, ", ") + "; a signal is missing"
}

// token is json.Decoder.Token with errors that quote nothing of the inputs.
func (d *inputDecoder) token() (json.Token, error) {
	token, err := d.json.Token()
	switch {
	case err == nil:
		return token, nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, &InputError{Reason: fmt.Sprintf("JSON ends early, after byte %d", d.json.InputOffset())}
	}
	return nil, &InputError{Reason: fmt.Sprintf("not valid JSON after byte %d", d.json.InputOffset())}
}

func (d *inputDecoder) enter(name string) error {
	if d.depth++; d.depth > maxInputDepth {
		return &InputError{name, fmt.Sprintf("nested deeper than %d levels", maxInputDepth)}
	}
	return nil
}

// object reads the rest of an object, whose fields are signals under the prefix.
func (d *inputDecoder) object(prefix string) error {
	if err := d.enter(prefix); err != nil {
		return err
	}
	fields := map[string]bool{}
	for {
		token, err := d.token()
		if err != nil {
			return err
		}
		if token == json.Delim('}') {
			d.depth--
			return nil
		}
		field := token.(string)
		name := field
		if prefix != "" {
			name = prefix + "." + field
		}
		if len(name) > maxSignalName {
			return &InputError{Reason: fmt.Sprintf("a signal's name is longer than %d bytes, at byte %d", maxSignalName, d.json.InputOffset())}
		}
		if fields[field] {
			return &InputError{name, "given twice"}
		}
		fields[field] = true
		if err := d.member(name); err != nil {
			return err
		}
	}
}

// member reads the value of a field: a signal, or a bus.
func (d *inputDecoder) member(name string) error {
	token, err := d.token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		return d.object(name)
	case json.Delim('['):
		a := &inputArray{name: name}
		if err := d.array(a, name); err != nil {
			return err
		}
		if a.buses {
			return nil
		}
		return d.add(name, a)
	}
	a := &inputArray{name: name, scalar: true}
	if err := d.value(a, token); err != nil {
		return err
	}
	return d.add(name, a)
}

// An inputArray gathers what the nested arrays of one signal hold.
type inputArray struct {
	name   string
	scalar bool // no array at all
	buses  bool // its elements are objects
	count  int
	values []byte
}

// array reads the rest of an array; path is the signal's name with the indices of the arrays around.
func (d *inputDecoder) array(a *inputArray, path string) error {
	if err := d.enter(a.name); err != nil {
		return err
	}
	for i := 0; ; i++ {
		token, err := d.token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim(']'):
			d.depth--
			return nil
		case json.Delim('['):
			err = d.array(a, path+"["+strconv.Itoa(i)+"]")
		case json.Delim('{'):
			if a.count > 0 {
				return &InputError{a.name, "mixes values and objects"}
			}
			a.buses = true
			err = d.object(path + "[" + strconv.Itoa(i) + "]")
		default:
			if a.buses {
				return &InputError{a.name, "mixes values and objects"}
			}
			err = d.value(a, token)
		}
		if err != nil {
			return err
		}
	}
}

// value reads one integer. Past what the circuit takes in all, values are counted for the error, and not kept.
func (d *inputDecoder) value(a *inputArray, token json.Token) error {
	x, err := d.integer(token)
	if err != nil {
		reason := err.Error()
		if !a.scalar {
			reason = fmt.Sprintf("value %d: %s", a.count, reason)
		}
		return &InputError{a.name, reason}
	}
	if a.count < d.total {
		a.values = x.appendTo(a.values)
	}
	a.count++
	return nil
}

func (d *inputDecoder) integer(token json.Token) (scalar, error) {
	switch v := token.(type) {
	case json.Number:
		return parseScalar(v.String(), &d.modulus)
	case string:
		return parseScalar(v, &d.modulus)
	case bool:
		if v {
			return scalar{1}, nil
		}
		return scalar{}, nil
	}
	return scalar{}, fmt.Errorf("%s, expected an integer", kind(token))
}

// add takes a signal whose values are read, if the circuit has it and takes as many.
func (d *inputDecoder) add(name string, a *inputArray) error {
	size, err := d.table.size(name)
	if err != nil {
		return err
	}
	switch _, twice := d.index[name]; {
	case twice:
		return &InputError{name, "given twice"}
	case size == 0 && a.count > 0: // of no values, an input of size 0 and an unknown one can't be told apart
		return &InputError{name, "not an input of the circuit"}
	case size >= 0 && a.count != size:
		return &InputError{name, fmt.Sprintf("%d values, expected %d", a.count, size)}
	case d.given+a.count > d.total:
		return &InputError{name, fmt.Sprintf("%d values are set with it, the circuit takes %d", d.given+a.count, d.total)}
	case len(d.signals) == d.total+maxSpareNames:
		return &InputError{Reason: fmt.Sprintf("more than %d signals", len(d.signals))}
	}
	d.index[name] = len(d.signals)
	d.signals = append(d.signals, signal{name, a.values})
	d.given += a.count
	return nil
}

// kind names what a token is, not what it says.
func kind(token json.Token) string {
	switch token {
	case json.Delim('{'):
		return "an object"
	case json.Delim('['):
		return "an array"
	case nil:
		return "null"
	}
	switch token.(type) {
	case string:
		return "a string"
	case bool:
		return "a boolean"
	}
	return "a number"
}
