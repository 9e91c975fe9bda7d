package queue

import (
	"fmt"
	"time"
)

// State is where a job stands.
type State string

// States of a job. The last four are final and those of a [Result].
const (
	Queued    State = "queued"
	Running   State = "running"
	Done      State = "done"
	Failed    State = "failed"
	Cancelled State = "cancelled"
	Expired   State = "expired"
)

// Final reports whether a job in this state stays in it.
func (s State) Final() bool {
	return s == Done || s == Failed || s == Cancelled || s == Expired
}

// Result is what a job came to. There is exactly one for each job.
type Result struct {
	ID      string
	Circuit string   // hexadecimal sha256 of the proving key's file; empty if the job couldn't be read
	Job     [32]byte // sha256 of the job's body
	State   State    // Done, Failed, Cancelled or Expired
	Proofs  []Proof  // of a job that is done: one for each witness, in order
	Err     *Failure // of a job that isn't done
	Attempt int      // which attempt this is from; 0 if no work began
	Worker  string
	Device  string
	Timings Timings
	Trace   string // hexadecimal trace id; empty without one
}

// Proof is one Groth16 proof and what it proves.
type Proof struct {
	// Proof is A|B|C compressed: 128 bytes as gnark writes them for BN254,
	// 192 bytes as bellman writes them for BLS12-381.
	Proof []byte
	// Public are the public signals, 32 bytes big-endian each, without the
	// constant one.
	Public []byte
}

// Timings are where a job's time went. A phase that didn't happen is zero;
// phases of different proofs of a job may overlap, so they needn't add up.
type Timings struct {
	Queue     time.Duration // submission to delivery, by the broker's and the worker's clock
	Decode    time.Duration
	Fetch     time.Duration
	Witness   time.Duration
	Synthesis time.Duration
	Wait      time.Duration // for the device
	Device    time.Duration
	Check     time.Duration
	Total     time.Duration // delivery to result
}

// EncodeResult writes a result's body.
func EncodeResult(r *Result) []byte {
	size := 1024
	for _, p := range r.Proofs {
		size += 32 + len(p.Proof) + len(p.Public)
	}
	e := newEncoder(size)
	e.fieldMap([]field{
		number("v", version),
		text("id", r.ID),
		text("circuit", r.Circuit),
		blob("job", r.Job[:]),
		text("state", string(r.State)),
		list("proofs", r.Proofs, func(e *encoder, p Proof) {
			e.fieldMap([]field{blob("proof", p.Proof), {"public", false, func(e *encoder) { _ = e.e.EncodeBytes(notNil(p.Public)) }}})
		}),
		failureField(r.Err),
		number("attempt", r.Attempt),
		text("worker", r.Worker),
		text("device", r.Device),
		nested("ms", r.Timings == Timings{}, r.Timings.fields()...),
		text("trace", r.Trace),
	})
	return e.buf.Bytes()
}

// notNil keeps a proof without public signals from becoming msgpack's nil.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func failureField(f *Failure) field {
	if f == nil {
		return field{omit: true}
	}
	return nested("err", false,
		text("code", string(f.Code)), text("msg", f.Msg), boolean("retry", f.Retry))
}

func (t *Timings) fields() []field {
	var fields []field
	for _, p := range t.phases() {
		fields = append(fields, millis(p.key, *p.d))
	}
	return fields
}

func (t *Timings) phases() []phase {
	return []phase{
		{"queue", &t.Queue}, {"decode", &t.Decode}, {"fetch", &t.Fetch}, {"witness", &t.Witness},
		{"synthesis", &t.Synthesis}, {"wait", &t.Wait}, {"device", &t.Device}, {"check", &t.Check}, {"total", &t.Total},
	}
}

type phase struct {
	key string
	d   *time.Duration
}

// DecodeResult reads a result's body; it leaves out what it doesn't know. The
// proofs point into data.
func DecodeResult(data []byte) (*Result, error) {
	r := &Result{}
	err := decodeMap("result", data, false, func(d *decoder, key string) bool {
		switch key {
		case "id":
			r.ID = d.text(64)
		case "circuit":
			r.Circuit = d.text(64)
		case "job":
			r.Job = d.digest()
		case "state":
			r.State = State(d.text(16))
		case "proofs":
			d.array(MaxWitnesses, func(d *decoder, _ int) { r.Proofs = append(r.Proofs, decodeProof(d)) })
		case "err":
			r.Err = decodeFailure(d)
		case "attempt":
			r.Attempt = d.int()
		case "worker":
			r.Worker = d.text(64)
		case "device":
			r.Device = d.text(256)
		case "ms":
			decodeTimings(d, &r.Timings)
		case "trace":
			r.Trace = d.text(32)
		default:
			return false
		}
		return true
	})
	if err == nil {
		err = r.validate()
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

func decodeProof(d *decoder) (p Proof) {
	d.fields(false, func(d *decoder, key string) bool {
		switch key {
		case "proof":
			p.Proof = d.binary()
		case "public":
			p.Public = d.binary()
		default:
			return false
		}
		return true
	})
	if len(p.Proof) == 0 || len(p.Public)%32 != 0 {
		d.fail(fmt.Sprintf("a proof of %d bytes and public signals of %d", len(p.Proof), len(p.Public)),
			"a proof and public signals of 32 bytes each")
	}
	return p
}

func decodeFailure(d *decoder) *Failure {
	f := &Failure{}
	d.fields(false, func(d *decoder, key string) bool {
		switch key {
		case "code":
			f.Code = Code(d.text(64))
		case "msg":
			f.Msg = d.text(maxMessage)
		case "retry":
			f.Retry = d.bool()
		default:
			return false
		}
		return true
	})
	return f
}

// maxMessage bounds the text of an error, so that it fits every message.
const maxMessage = 4096

func decodeTimings(d *decoder, t *Timings) {
	phases := t.phases()
	d.fields(false, func(d *decoder, key string) bool {
		for _, p := range phases {
			if p.key == key {
				*p.d = d.duration()
				return true
			}
		}
		return false
	})
}

func (r *Result) validate() error {
	bad := func(field, found, expected string) error {
		return &MalformedError{What: "result", Field: field, Found: found, Expected: expected}
	}
	switch {
	case !ValidToken(r.ID):
		return bad("id", fmt.Sprintf("%.80q", r.ID), "1 to 64 of A-Z a-z 0-9 _ -")
	case !r.State.Final():
		return bad("state", fmt.Sprintf("%.20q", r.State), "done, failed, cancelled or expired")
	case r.State == Done && (len(r.Proofs) == 0 || r.Err != nil):
		return bad("proofs", fmt.Sprintf("%d elements", len(r.Proofs)), "proofs and no err in a result that is done")
	case r.State != Done && (len(r.Proofs) != 0 || r.Err == nil):
		return bad("err", fmt.Sprintf("%d proofs", len(r.Proofs)), "err and no proofs in a result that isn't done")
	}
	return nil
}

// resultSize bounds the bytes of a done result with n proofs of a circuit
// with the given number of public signals, headers included.
func resultSize(n, public int) int64 {
	const fixed, each = 4096, 192 + 32
	return fixed + int64(n)*(each+32*int64(public))
}
