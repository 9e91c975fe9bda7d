package queue

import (
	"bytes"
	"time"

	"github.com/vmihailenco/msgpack/v5"
)

// version of all messages of this contract.
const version = 1

// encoder writes a message's fields in order; fields that are zero are left
// out, so that equal messages have equal bytes. Writing to memory can't fail,
// so errors are not looked at.
type encoder struct {
	buf bytes.Buffer
	e   *msgpack.Encoder
}

func newEncoder(size int) *encoder {
	e := &encoder{}
	e.buf.Grow(size)
	e.e = msgpack.NewEncoder(&e.buf)
	return e
}

func (e *encoder) fieldMap(fields []field) {
	n := 0
	for _, f := range fields {
		if !f.omit {
			n++
		}
	}
	_ = e.e.EncodeMapLen(n)
	for _, f := range fields {
		if !f.omit {
			_ = e.e.EncodeString(f.key)
			f.write(e)
		}
	}
}

// field is one pair of a map.
type field struct {
	key   string
	omit  bool
	write func(*encoder)
}

func text(key, v string) field {
	return field{key, v == "", func(e *encoder) { _ = e.e.EncodeString(v) }}
}

func blob(key string, v []byte) field {
	return field{key, v == nil, func(e *encoder) { _ = e.e.EncodeBytes(v) }}
}

func number[T ~int | ~int64](key string, v T) field {
	return field{key, v == 0, func(e *encoder) { _ = e.e.EncodeUint(uint64(v)) }}
}

func boolean(key string, v bool) field {
	return field{key, !v, func(e *encoder) { _ = e.e.EncodeBool(v) }}
}

func moment(key string, t time.Time) field {
	if t.IsZero() {
		return field{key: key, omit: true}
	}
	return number(key, t.UnixMilli())
}

func millis(key string, d time.Duration) field {
	return field{key, d <= 0, func(e *encoder) { _ = e.e.EncodeFloat64(float64(d) / float64(time.Millisecond)) }}
}

func nested(key string, omit bool, fields ...field) field {
	return field{key, omit, func(e *encoder) { e.fieldMap(fields) }}
}

func list[T any](key string, items []T, write func(*encoder, T)) field {
	return field{key, len(items) == 0, func(e *encoder) {
		_ = e.e.EncodeArrayLen(len(items))
		for _, item := range items {
			write(e, item)
		}
	}}
}
