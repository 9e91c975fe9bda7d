package queue

import (
	"bytes"
	"fmt"
	"math"
	"time"

	"github.com/vmihailenco/msgpack/v5"
)

// decoder reads one message after scan has passed it: lengths can be trusted,
// types can't yet. Its methods refuse a value of another type than asked for,
// which msgpack/v5 would convert. The first error sticks; reads after it
// return zero values.
type decoder struct {
	what string
	path string
	data []byte
	r    *bytes.Reader
	d    *msgpack.Decoder
	err  error
}

// decodeMap reads a message: a map of a version, which it sees to itself, and
// of what fields reads.
func decodeMap(what string, data []byte, strict bool, fields func(d *decoder, key string) bool) error {
	if err := scan(data); err != nil {
		return &MalformedError{What: what, Found: err.Error(), Expected: "one msgpack map"}
	}
	r := bytes.NewReader(data) // a ByteScanner, so msgpack reads no byte ahead
	d := &decoder{what: what, data: data, r: r, d: msgpack.NewDecoder(r)}
	seen := false
	d.fields(strict, func(d *decoder, key string) bool {
		if key != "v" {
			return fields(d, key)
		}
		seen = true
		d.version()
		return true
	})
	if d.err == nil && !seen {
		d.path = "v"
		d.fail("nothing", fmt.Sprint(version))
	}
	return d.err
}

// fields reads a map. read gets each key and reads its value, or returns
// false for a key that it doesn't know, which is skipped, or refused if the
// message is to be strict.
func (d *decoder) fields(strict bool, read func(d *decoder, key string) bool) {
	if !d.expect(kindMap) {
		return
	}
	n, err := d.d.DecodeMapLen()
	d.check(err)
	outer := d.path
	for range n {
		key, err := d.d.DecodeString()
		if d.check(err); d.err != nil {
			return
		}
		d.path = join(outer, key)
		if !read(d, key) {
			d.unknown(strict)
		}
		if d.err != nil {
			return
		}
	}
	d.path = outer
}

func join(path, key string) string {
	key = fmt.Sprintf("%.40q", key)
	key = key[1 : len(key)-1]
	if path == "" {
		return key
	}
	return path + "." + key
}

func (d *decoder) unknown(strict bool) {
	if strict {
		d.fail("an unknown field", "a field of this version")
		return
	}
	d.check(d.d.Skip())
}

// array reads an array of at most limit elements.
func (d *decoder) array(limit int, read func(d *decoder, i int)) {
	if !d.expect(kindArray) {
		return
	}
	n, err := d.d.DecodeArrayLen()
	if d.check(err); n > limit {
		d.fail(fmt.Sprintf("%d elements", n), fmt.Sprintf("at most %d", limit))
	}
	outer := d.path
	for i := 0; i < n && d.err == nil; i++ {
		d.path = fmt.Sprintf("%s[%d]", outer, i)
		read(d, i)
	}
	if d.err == nil {
		d.path = outer
	}
}

// peek is the kind of the next value.
func (d *decoder) peek() kind {
	h, _, err := parseHeader(d.data[len(d.data)-d.r.Len():])
	if d.check(err); err != nil {
		return 0
	}
	return h.kind
}

func (d *decoder) expect(want kind) bool {
	if d.err != nil {
		return false
	}
	got := d.peek()
	if got != want && d.err == nil {
		d.fail(got.String(), want.String())
	}
	return d.err == nil
}

// text reads a string of at most limit bytes.
func (d *decoder) text(limit int) string {
	if !d.expect(kindString) {
		return ""
	}
	s, err := d.d.DecodeString()
	if d.check(err); len(s) > limit {
		d.fail(fmt.Sprintf("%d bytes", len(s)), fmt.Sprintf("at most %d", limit))
		return ""
	}
	return s
}

// binary reads bytes without copying them: they point into the message.
func (d *decoder) binary() []byte {
	if !d.expect(kindBinary) {
		return nil
	}
	n, err := d.d.DecodeBytesLen()
	if d.check(err); err != nil {
		return nil
	}
	at := len(d.data) - d.r.Len()
	b := d.data[at : at+n : at+n]
	_, err = d.r.Seek(int64(n), 1)
	d.check(err)
	return b
}

// digest reads 32 bytes.
func (d *decoder) digest() (sum [32]byte) {
	b := d.binary()
	if d.err == nil && len(b) != len(sum) {
		d.fail(fmt.Sprintf("%d bytes", len(b)), "32")
		return sum
	}
	copy(sum[:], b)
	return sum
}

// uint reads a whole number from 0 to limit.
func (d *decoder) uint(limit uint64) uint64 {
	if !d.expect(kindUint) {
		return 0
	}
	n, err := d.d.DecodeUint64()
	if d.check(err); n > limit {
		d.fail(fmt.Sprint(n), fmt.Sprintf("at most %d", limit))
		return 0
	}
	return n
}

func (d *decoder) int() int { return int(d.uint(math.MaxInt32)) }

func (d *decoder) bool() bool {
	if !d.expect(kindBool) {
		return false
	}
	b, err := d.d.DecodeBool()
	d.check(err)
	return b
}

// version reads the version and refuses any but 1.
func (d *decoder) version() {
	if v := d.int(); d.err == nil && v != version {
		d.fail(fmt.Sprint(v), fmt.Sprint(version))
	}
}

// time reads a time in unix milliseconds; 0 is the zero time.
func (d *decoder) time() time.Time {
	ms := d.uint(maxTime)
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms))
}

// maxTime, in unix milliseconds, is the year 9999: what follows overflows
// other people's clocks.
const maxTime = 253402300799999

// duration reads a time span in milliseconds, a float or a whole number.
func (d *decoder) duration() time.Duration {
	if d.err != nil {
		return 0
	}
	if d.peek() == kindUint {
		return time.Duration(d.uint(maxTime)) * time.Millisecond
	}
	if !d.expect(kindFloat) {
		return 0
	}
	ms, err := d.d.DecodeFloat64()
	d.check(err)
	if !(ms >= 0 && ms <= float64(math.MaxInt64)/1e7) {
		d.fail("a float out of range", "milliseconds")
		return 0
	}
	return time.Duration(ms * float64(time.Millisecond))
}

// fail records what is wrong at the current field, if nothing was before.
func (d *decoder) fail(found, expected string) {
	if d.err == nil {
		d.err = &MalformedError{What: d.what, Field: d.path, Found: found, Expected: expected}
	}
}

func (d *decoder) check(err error) {
	if err != nil {
		d.fail(err.Error(), "msgpack")
	}
}
