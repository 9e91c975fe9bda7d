package queue

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

// sample is a job with all fields.
func sample() *Job {
	sum := [32]byte{1, 2, 3, 0xff}
	return &Job{
		ID: "job-1", Circuit: "merkle@" + digestHex,
		Witnesses: []Witness{
			{Wtns: []byte("wtns")},
			{Inputs: []byte(`{"a":1}`)},
			{Object: &Object{Name: ObjectName("job-1", 2, sum), Len: 1 << 33, SHA256: sum}},
		},
		Deadline: time.UnixMilli(1_800_000_000_123),
		Reply:    "_INBOX.abc.def",
		Meta:     map[string]string{"b": "2", "a": "1"},
	}
}

func sampleResult() *Result {
	return &Result{
		ID: "job-1", Circuit: digestHex, Job: [32]byte{9}, State: Done,
		Proofs:  []Proof{{Proof: bytes.Repeat([]byte{7}, 128), Public: make([]byte, 64)}, {Proof: []byte{1}, Public: []byte{}}},
		Attempt: 2, Worker: "w-1", Device: "NVIDIA H200",
		Timings: Timings{Queue: time.Millisecond, Device: 1500 * time.Microsecond, Total: 3 * time.Second},
		Trace:   "0af7651916cd43dd8448eb211c80319c",
	}
}

func TestMessagesSurviveTheWire(t *testing.T) {
	job := sample()
	if got, err := DecodeJob(EncodeJob(job)); err != nil || !reflect.DeepEqual(got, job) {
		t.Errorf("job %+v, error %v", got, err)
	}
	for _, r := range []*Result{
		sampleResult(),
		{ID: "j", State: Failed, Err: &Failure{Code: "unsatisfied", Msg: "constraint 3", Retry: true}},
		{ID: "j", State: Cancelled, Err: &Failure{Code: CodeCancelled}},
	} {
		if got, err := DecodeResult(EncodeResult(r)); err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("result %+v, error %v; want %+v", got, err, r)
		}
	}
	p := &Progress{ID: "j", State: Running, Phase: PhaseDevice, Attempt: 1, Worker: "w", At: time.UnixMilli(1_800_000_000_000), Percent: 50}
	if got, err := DecodeProgress(EncodeProgress(p)); err != nil || !reflect.DeepEqual(got, p) {
		t.Errorf("progress %+v, error %v", got, err)
	}
	st := &Status{Progress: *p, Attempts: 2, Deferrals: 3, Job: [32]byte{1}, Subject: "pinion.job.high.c.j", Cancelled: true,
		History: []Attempt{{Attempt: 1, Worker: "w", At: 5, Error: "why", Trace: "00-"}}}
	if got, err := decodeStatus(encodeStatus(st)); err != nil || !reflect.DeepEqual(got, st) {
		t.Errorf("status %+v, error %v", got, err)
	}
}

func TestDecodedWitnessesPointIntoTheMessage(t *testing.T) {
	data := EncodeJob(&Job{ID: "j", Circuit: "c@" + digestHex, Witnesses: []Witness{{Wtns: make([]byte, 900<<10)}}})
	if n := allocated(func() {
		if _, err := DecodeJob(data); err != nil {
			t.Error(err)
		}
	}); n > 64<<10 {
		t.Errorf("decoding allocates %d bytes", n)
	}
}

// allocated is how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Pieces of hand-made messages.
const (
	jobHead = "\xa1v\x01\xa2id\xa1j\xa7circuit\xd9\x42c@" + digestHex
	jobTail = "\xa6proofs\x91\x81\xa4wtns\xc4\x01w"
)

// goodJob is a job with more fields.
func goodJob(fields int, extra string) string {
	return string([]byte{0x84 + byte(fields)}) + jobHead + extra + jobTail
}

// hostileJob is bytes that are no job, and what [DecodeJob] says about them.
type hostileJob struct{ name, data, err string }

func hostileJobs() []hostileJob {
	deep := func(n int) string { return strings.Repeat("\x91", n) + "\xc0" }
	job := goodJob
	return []hostileJob{
		{"empty", "", "found truncated bytes, expected one msgpack map"},
		{"array of 2^32", "\x81\xa6public\xdd\xff\xff\xff\xff", "found truncated bytes, expected one msgpack map"},
		{"binary of 2^32", "\x81\xa7witness\xc6\xff\xff\xff\xff", "found truncated bytes, expected one msgpack map"},
		{"array of 2^24", "\x81\xa6public\xdd\x01\x00\x00\x00", "found truncated bytes, expected one msgpack map"},
		{"map of 2^32", "\xdf\xff\xff\xff\xff", "found truncated bytes, expected one msgpack map"},
		{"string of 2^32", "\x81\xdb\xff\xff\xff\xff", "found truncated bytes, expected one msgpack map"},
		{"extension of 2^32", "\x81\xa1v\xc9\xff\xff\xff\xff\x01", "found truncated bytes, expected one msgpack map"},
		{"header cut off", "\x81\xa1v\xdb\xff\xff", "found truncated bytes, expected one msgpack map"},
		{"deep", "\x81\xa1x" + deep(900_000), "found nesting deeper than 8, expected one msgpack map"},
		{"wide", "\x81\xa1x\xdd\x00\x0d\xbb\xa0" + strings.Repeat("\xc0", 900_000), "found more than 4096 values, expected one msgpack map"},
		{"wide maps", "\x81\xa1x\xdd\x00\x0d\xbb\xa0" + strings.Repeat("\x80", 900_000), "found more than 4096 values, expected one msgpack map"},
		{"trailing bytes", job(0, "") + "\xc0", "found 1 bytes after the end, expected one msgpack map"},
		{"two jobs", job(0, "") + job(0, ""), "found 102 bytes after the end, expected one msgpack map"},
		{"nil", "\xc0", "found nil, expected a map"},
		{"array", "\x90", "found an array, expected a map"},
		{"never used byte", "\xc1", "found the byte 0xc1, which begins no value, expected one msgpack map"},
		{"duplicate key", "\x82\xa1v\x01\xa1v\x01", `found the key "v" twice, expected one msgpack map`},
		{"binary key", "\x81\xc4\x01v\x01", "found a map key that is binary, expected one msgpack map"},
		{"integer key", "\x81\x01\x01", "found a map key that is an integer, expected one msgpack map"},
		{"unknown key", job(1, "\xa4evil\xc0"), "evil: found an unknown field, expected a field of this version"},
		{"key with control bytes", job(1, "\xa2\n\x00\xc0"), `\n\x00: found an unknown field, expected a field of this version`},
		{"no version", "\x80", "v: found nothing, expected 1"},
		{"version 2", "\x81\xa1v\x02", "v: found 2, expected 1"},
		{"negative version", "\x81\xa1v\xff", "v: found a negative integer, expected an integer"},
		{"float version", "\x81\xa1v\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00", "v: found a float, expected an integer"},
		{"extension version", "\x81\xa1v\xd4\x01\x01", "v: found an extension, expected an integer"},
		{"nil id", "\x82\xa1v\x01\xa2id\xc0", "id: found nil, expected a string"},
		{"binary id", "\x82\xa1v\x01\xa2id\xc4\x01j", "id: found binary, expected a string"},
		{"id with a dot", "\x82\xa1v\x01\xa2id\xa3a.b", `id: found "a.b", expected 1 to 64 of A-Z a-z 0-9 _ -`},
		{"id with a wildcard", "\x82\xa1v\x01\xa2id\xa1*", `id: found "*", expected 1 to 64 of A-Z a-z 0-9 _ -`},
		{"long id", "\x82\xa1v\x01\xa2id\xd9\x41" + strings.Repeat("a", 65), "id: found 65 bytes, expected at most 64"},
		{"bare circuit", "\x83\xa1v\x01\xa2id\xa1j\xa7circuit\xa1c", `circuit: found "c", expected name@sha256 with 64 lower-case hexadecimal digits`},
		{"no proofs", "\x83" + jobHead, "proofs: found 0 elements, expected 1 to 64"},
		{"many proofs", "\x84" + jobHead + "\xa6proofs\xdc\x00\x41" + strings.Repeat("\x81\xa4wtns\xc4\x01w", 65), "proofs: found 65 elements, expected at most 64"},
		{"string for binary", "\x84" + jobHead + "\xa6proofs\x91\x81\xa4wtns\xa1w", "proofs[0].wtns: found a string, expected binary"},
		{"both witness and inputs", "\x84" + jobHead + "\xa6proofs\x91\x82\xa4wtns\xc4\x01w\xa6inputs\xc4\x01i", "proofs[0]: found 2 fields, expected one of wtns, inputs, obj"},
		{"empty proof", "\x84" + jobHead + "\xa6proofs\x91\x80", "proofs[0]: found 0 fields, expected one of wtns, inputs, obj"},
		{"empty witness", "\x84" + jobHead + "\xa6proofs\x91\x81\xa4wtns\xc4\x00", "proofs[0].wtns: found 0 bytes, expected a .wtns file"},
		{"empty inputs", "\x84" + jobHead + "\xa6proofs\x91\x81\xa6inputs\xc4\x00", "proofs[0].inputs: found 0 bytes, expected JSON"},
		{"another job's object", "\x84" + jobHead + "\xa6proofs\x91\x81\xa3obj\x83\xa4name\xa1x\xa3len\x01\xa6sha256\xc4\x20" + strings.Repeat("\x00", 32), `proofs[0].obj.name: found "x", expected "j.0.0000000000000000000000000000000000000000000000000000000000000000"`},
		{"object's short digest", "\x84" + jobHead + "\xa6proofs\x91\x81\xa3obj\x81\xa6sha256\xc4\x01\x00", "proofs[0].obj.sha256: found 1 bytes, expected 32"},
		{"object's huge length", "\x84" + jobHead + "\xa6proofs\x91\x81\xa3obj\x81\xa3len\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "proofs[0].obj.len: found 18446744073709551615, expected at most 1125899906842624"},
		{"deadline as timestamp", job(1, "\xa8deadline\xd6\xff\x00\x00\x00\x01"), "deadline: found an extension, expected an integer"},
		{"deadline beyond time", job(1, "\xa8deadline\xcf\xff\xff\xff\xff\xff\xff\xff\xff"), "deadline: found 18446744073709551615, expected at most 253402300799999"},
		{"reply with a wildcard", job(1, "\xa5reply\xa3a.*"), `reply: found "a.*", expected a subject to publish to`},
		{"reply with a line end", job(1, "\xa5reply\xa3a\r\n"), `reply: found "a\r\n", expected a subject to publish to`},
		{"long reply", job(1, "\xa5reply\xda\x01\x01"+strings.Repeat("a", 257)), "reply: found 257 bytes, expected at most 256"},
		{"meta as array", job(1, "\xa4meta\x90"), "meta: found an array, expected a map"},
		{"meta with number", job(1, "\xa4meta\x81\xa1a\x01"), "meta.a: found an integer, expected a string"},
		{"much meta", job(1, "\xa4meta\xde\x00\x11"+pairs(17)), "found more pairs, expected at most 16"},
		{"long meta key", job(1, "\xa4meta\x81\xd9\x41"+strings.Repeat("k", 65)+"\xa1v"), "meta: found a key of 65 and a value of 1 bytes, expected 1 to 64 and at most 256"},
		{"oversized", strings.Repeat("\xc0", MaxJobBytes+1), "found 983041 bytes, expected at most 983040"},
	}
}

func TestQ17HostileJobs(t *testing.T) {
	if _, err := DecodeJob([]byte(goodJob(0, ""))); err != nil {
		t.Fatalf("the corpus' good job: %v", err)
	}
	for _, tt := range hostileJobs() {
		var err error
		n := allocated(func() { _, err = DecodeJob([]byte(tt.data)) })
		if !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: error %v, want ErrMalformed", tt.name, err)
			continue
		}
		if !strings.HasSuffix(err.Error(), tt.err) || !strings.HasPrefix(err.Error(), "queue: malformed job: ") {
			t.Errorf("%s: error %q, want %q", tt.name, err, tt.err)
		}
		if n > 4<<20 { // far below the 64 MiB allowed; the copy of the input counts too
			t.Errorf("%s: %d bytes allocated", tt.name, n)
		}
	}
}

func pairs(n int) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, "\xa2%02d\xa1v", i)
	}
	return s.String()
}

// hostileResults are bytes that are no result, and what [DecodeResult] says about them.
var hostileResults = []struct{ name, data, err string }{
	{"nil", "\xc0", "queue: malformed result: found nil, expected a map"},
	{"deep unknown field", "\x82\xa1v\x01\xa1x" + strings.Repeat("\x91", 100_000), "queue: malformed result: found nesting deeper than 8, expected one msgpack map"},
	{"queued", "\x83\xa1v\x01\xa2id\xa1j\xa5state\xa6queued", `queue: malformed result: state: found "queued", expected done, failed, cancelled or expired`},
	{"done without proofs", "\x83\xa1v\x01\xa2id\xa1j\xa5state\xa4done", "queue: malformed result: proofs: found 0 elements, expected proofs and no err in a result that is done"},
	{"failed without err", "\x83\xa1v\x01\xa2id\xa1j\xa5state\xa6failed", "queue: malformed result: err: found 0 proofs, expected err and no proofs in a result that isn't done"},
	{"odd public signals", "\x82\xa1v\x01\xa6proofs\x91\x82\xa5proof\xc4\x01p\xa6public\xc4\x01q", "queue: malformed result: proofs[0]: found a proof of 1 bytes and public signals of 1, expected a proof and public signals of 32 bytes each"},
	{"NaN", "\x82\xa1v\x01\xa2ms\x81\xa5total\xcb\x7f\xf8\x00\x00\x00\x00\x00\x01", "queue: malformed result: ms.total: found a float out of range, expected milliseconds"},
}

func TestHostileResults(t *testing.T) {
	for _, tt := range hostileResults {
		if _, err := DecodeResult([]byte(tt.data)); err == nil || err.Error() != tt.err {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.err)
		}
	}
	// What a later version adds is left out.
	good := EncodeResult(sampleResult())
	good[0]++
	good = append(good, "\xa5later\x81\xa1a\xd4\x01\x01"...)
	if r, err := DecodeResult(good); err != nil || r.ID != "job-1" {
		t.Errorf("with an unknown field: %+v, %v", r, err)
	}
}

func TestHostileRecords(t *testing.T) {
	long := "[" + strings.Repeat("{},", 300_000) + "{}]"
	for _, tt := range []struct{ name, history, err string }{
		{"no JSON", "[{", "queue: malformed status: history: found unexpected end of JSON input, expected JSON"},
		{"long history", long, "queue: malformed status: history: found 900004 bytes, expected at most 65536"},
	} {
		e := newEncoder(0)
		e.fieldMap([]field{number("v", version), text("id", "j"), text("state", "queued"), blob("history", []byte(tt.history))})
		var err error
		n := allocated(func() { _, err = decodeStatus(e.buf.Bytes()) })
		if err == nil || err.Error() != tt.err {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.err)
		}
		if n > 4<<20 {
			t.Errorf("%s: %d bytes allocated", tt.name, n)
		}
	}
}

func FuzzDecodeJob(f *testing.F) {
	f.Add(EncodeJob(sample()))
	for _, h := range hostileJobs() {
		if len(h.data) < 4<<10 {
			f.Add([]byte(h.data))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		j, err := DecodeJob(data)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Errorf("error %v isn't ErrMalformed", err)
			}
			return
		}
		again, err := DecodeJob(EncodeJob(j))
		if len(j.Meta) == 0 {
			j.Meta = nil // an empty map isn't written
		}
		if err != nil || !reflect.DeepEqual(j, again) {
			t.Errorf("%+v became %+v, %v", j, again, err)
		}
	})
}

func FuzzDecodeResult(f *testing.F) {
	f.Add(EncodeResult(sampleResult()))
	f.Add(EncodeResult(&Result{ID: "j", State: Failed, Err: &Failure{Code: "c", Msg: "m", Retry: true}}))
	for _, h := range hostileResults {
		if len(h.data) < 4<<10 {
			f.Add([]byte(h.data))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := DecodeResult(data)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Errorf("error %v isn't ErrMalformed", err)
			}
			return
		}
		r.Timings = Timings{} // less than a nanosecond may be lost each time
		unchanged(t, r, EncodeResult, DecodeResult)
	})
}

func FuzzDecodeProgress(f *testing.F) {
	f.Add(EncodeProgress(&Progress{ID: "j", State: Running, Phase: PhaseWait, At: time.UnixMilli(1)}))
	f.Add(encodeStatus(&Status{Progress: Progress{ID: "j", State: Queued}, History: []Attempt{{Worker: "w"}}}))
	f.Add(encodeStatus(&Status{Progress: Progress{ID: "j", State: Running, Percent: 100}, Attempts: 1, Deferrals: 2, Deferred: "why", Subject: "s", Cancelled: true}))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := DecodeProgress(data); err == nil {
			unchanged(t, p, EncodeProgress, DecodeProgress)
		} else if !errors.Is(err, ErrMalformed) {
			t.Errorf("error %v isn't ErrMalformed", err)
		}
		if st, err := decodeStatus(data); err == nil {
			unchanged(t, st, encodeStatus, decodeStatus)
		} else if !errors.Is(err, ErrMalformed) {
			t.Errorf("error %v isn't ErrMalformed", err)
		}
	})
}

// unchanged expects what was read to be written and read without a change.
func unchanged[T any](t *testing.T, v *T, encode func(*T) []byte, decode func([]byte) (*T, error)) {
	t.Helper()
	written := encode(v)
	again, err := decode(written)
	if err != nil {
		t.Errorf("%+v written again: %v", v, err)
	} else if !bytes.Equal(encode(again), written) {
		t.Errorf("%+v became %+v", v, again)
	}
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
