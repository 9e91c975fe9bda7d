package queue

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Job is a request for one or more proofs of one circuit.
type Job struct {
	// ID is the job's identity for as long as anything of it is stored; one
	// id is one job. A token: see [ValidToken].
	ID string
	// Circuit is name@sha256, the digest that of the proving key's file.
	Circuit string
	// Witnesses are what to prove, 1 to [MaxWitnesses]; the proofs come back
	// in the same order.
	Witnesses []Witness
	// Deadline is when the job's result loses its worth: it ends as expired.
	// Milliseconds on the wire; zero for none.
	Deadline time.Time
	// Reply is where messages about the job go, besides the stored result;
	// empty for nowhere. Workers refuse what their allow-list doesn't cover.
	Reply string
	// Meta is carried, not read: at most [MaxMeta] pairs.
	Meta map[string]string
}

// Witness is one proof's input; exactly one field is set. The byte slices of
// a decoded job point into the message.
type Witness struct {
	// Wtns is a whole .wtns file.
	Wtns []byte
	// Inputs is circom's inputs JSON, from which the worker computes the
	// witness.
	Inputs []byte
	// Object is a .wtns file in [BucketWitness].
	Object *Object
}

// Object refers to a witness in [BucketWitness].
type Object struct {
	Name   string // see [ObjectName]
	Len    int64  // bytes
	SHA256 [32]byte
}

// Size is the length in bytes of the witness, or of its inputs.
func (w Witness) Size() int64 {
	if w.Object != nil {
		return w.Object.Len
	}
	return int64(len(w.Wtns) + len(w.Inputs))
}

// EncodeJob writes a job's body. Equal jobs have equal bytes. It doesn't
// judge the job: see [Job.Validate].
func EncodeJob(j *Job) []byte {
	size := 512 + len(j.Reply) + len(j.Circuit)
	for _, w := range j.Witnesses {
		size += 256 + len(w.Wtns) + len(w.Inputs)
	}
	for k, v := range j.Meta {
		size += 8 + len(k) + len(v)
	}
	e := newEncoder(size)
	e.fieldMap([]field{
		number("v", version),
		text("id", j.ID),
		text("circuit", j.Circuit),
		list("proofs", j.Witnesses, encodeWitness),
		moment("deadline", j.Deadline),
		text("reply", j.Reply),
		{"meta", len(j.Meta) == 0, func(e *encoder) { encodeMeta(e, j.Meta) }},
	})
	return e.buf.Bytes()
}

func encodeWitness(e *encoder, w Witness) {
	if w.Object == nil {
		e.fieldMap([]field{blob("wtns", w.Wtns), blob("inputs", w.Inputs)})
		return
	}
	e.fieldMap([]field{nested("obj", false,
		text("name", w.Object.Name),
		number("len", w.Object.Len),
		blob("sha256", w.Object.SHA256[:]))})
}

func encodeMeta(e *encoder, meta map[string]string) {
	_ = e.e.EncodeMapLen(len(meta))
	for _, k := range slices.Sorted(maps.Keys(meta)) {
		_ = e.e.EncodeString(k)
		_ = e.e.EncodeString(meta[k])
	}
}

// DecodeJob reads a job's body and validates it. It refuses whatever it
// doesn't know, and allocates little beside what the job points to in data.
func DecodeJob(data []byte) (*Job, error) {
	if len(data) > MaxJobBytes {
		return nil, &MalformedError{"job", "", fmt.Sprintf("%d bytes", len(data)), fmt.Sprintf("at most %d", MaxJobBytes)}
	}
	j := &Job{}
	err := decodeMap("job", data, true, func(d *decoder, key string) bool {
		switch key {
		case "id":
			j.ID = d.text(64)
		case "circuit":
			j.Circuit = d.text(64 + 1 + 64)
		case "proofs":
			d.array(MaxWitnesses, func(d *decoder, _ int) { j.Witnesses = append(j.Witnesses, decodeWitness(d)) })
		case "deadline":
			j.Deadline = d.time()
		case "reply":
			j.Reply = d.text(MaxReply)
		case "meta":
			j.Meta = decodeMeta(d)
		default:
			return false
		}
		return true
	})
	if err == nil {
		err = j.Validate()
	}
	if err != nil {
		return nil, err
	}
	return j, nil
}

func decodeWitness(d *decoder) (w Witness) {
	n := 0
	d.fields(true, func(d *decoder, key string) bool {
		n++
		switch key {
		case "wtns":
			w.Wtns = d.binary()
		case "inputs":
			w.Inputs = d.binary()
		case "obj":
			w.Object = decodeObject(d)
		default:
			return false
		}
		return true
	})
	if n != 1 {
		d.fail(fmt.Sprintf("%d fields", n), "one of wtns, inputs, obj")
	}
	return w
}

func decodeObject(d *decoder) *Object {
	o := &Object{}
	d.fields(true, func(d *decoder, key string) bool {
		switch key {
		case "name":
			o.Name = d.text(256)
		case "len":
			o.Len = int64(d.uint(1 << 50))
		case "sha256":
			o.SHA256 = d.digest()
		default:
			return false
		}
		return true
	})
	return o
}

func decodeMeta(d *decoder) map[string]string {
	meta := make(map[string]string)
	d.fields(true, func(d *decoder, key string) bool {
		meta[key] = d.text(MaxMetaValue)
		if len(meta) > MaxMeta {
			d.fail("more pairs", fmt.Sprintf("at most %d", MaxMeta))
		}
		return true
	})
	return meta
}

// Validate checks a job against the limits of the contract; the error is a
// [*MalformedError].
func (j *Job) Validate() error {
	bad := func(field, found, expected string) error {
		return &MalformedError{What: "job", Field: field, Found: found, Expected: expected}
	}
	if !ValidToken(j.ID) {
		return bad("id", fmt.Sprintf("%.80q", j.ID), "1 to 64 of A-Z a-z 0-9 _ -")
	}
	if _, _, err := ParseCircuit(j.Circuit); err != nil {
		return bad("circuit", fmt.Sprintf("%.160q", j.Circuit), "name@sha256 with 64 lower-case hexadecimal digits")
	}
	if n := len(j.Witnesses); n == 0 || n > MaxWitnesses {
		return bad("proofs", fmt.Sprintf("%d elements", n), fmt.Sprintf("1 to %d", MaxWitnesses))
	}
	for i, w := range j.Witnesses {
		if field, found, expected := w.fault(j.ID, i); field != "" {
			return bad(fmt.Sprintf("proofs[%d].%s", i, field), found, expected)
		}
	}
	if j.Reply != "" && !validSubject(j.Reply) {
		return bad("reply", fmt.Sprintf("%.80q", j.Reply), "a subject to publish to")
	}
	if ms := j.Deadline.UnixMilli(); !j.Deadline.IsZero() && (ms <= 0 || ms > maxTime) {
		return bad("deadline", fmt.Sprint(ms), fmt.Sprintf("1 to %d", int64(maxTime)))
	}
	if len(j.Meta) > MaxMeta {
		return bad("meta", fmt.Sprintf("%d pairs", len(j.Meta)), fmt.Sprintf("at most %d", MaxMeta))
	}
	for k, v := range j.Meta {
		if k == "" || len(k) > MaxMetaKey || len(v) > MaxMetaValue {
			return bad("meta", fmt.Sprintf("a key of %d and a value of %d bytes", len(k), len(v)),
				fmt.Sprintf("1 to %d and at most %d", MaxMetaKey, MaxMetaValue))
		}
	}
	return nil
}

// fault says what is wrong with the i-th witness of the job; an empty field
// for nothing.
func (w Witness) fault(id string, i int) (field, found, expected string) {
	switch o := w.Object; {
	case o != nil && o.Len == 0:
		return "obj.len", "0", "at least 1"
	case o != nil && o.Name != ObjectName(id, i, o.SHA256):
		return "obj.name", fmt.Sprintf("%.160q", o.Name), fmt.Sprintf("%q", ObjectName(id, i, o.SHA256))
	case o == nil && w.Wtns != nil && len(w.Wtns) == 0:
		return "wtns", "0 bytes", "a .wtns file"
	case o == nil && w.Wtns == nil && len(w.Inputs) == 0:
		return "inputs", "0 bytes", "JSON"
	}
	return "", "", ""
}
