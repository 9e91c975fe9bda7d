package queue

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"
)

// The messages of docs/wire.md, which people implement against.
var (
	vectorJob = &Job{
		ID: "order-17", Circuit: "merkle@" + digestHex,
		Witnesses: []Witness{
			{Inputs: []byte(`{"leaf":"7","path":["1","2"]}`)},
			{Object: &Object{Name: ObjectName("order-17", 1, vectorSum), Len: 68_719_476_736, SHA256: vectorSum}},
		},
		Deadline: time.UnixMilli(1_800_000_000_000),
		Reply:    "_INBOX.q1.r2",
		Meta:     map[string]string{"customer": "42"},
	}
	vectorWtns = &Job{
		ID: "order-18", Circuit: "merkle@" + digestHex,
		Witnesses: []Witness{{Wtns: []byte("wtns")}},
		Deadline:  time.UnixMilli(1_800_000_000_000),
	}
	vectorDone = &Result{
		ID: "order-17", Circuit: digestHex, Job: digestOf(EncodeJob(vectorJob)), State: Done,
		Proofs:  []Proof{{Proof: make([]byte, 128), Public: append(make([]byte, 31), 9)}, {Proof: make([]byte, 128), Public: []byte{}}},
		Attempt: 1, Worker: "gpu-1", Device: "cpu",
		Timings: Timings{Queue: 2 * time.Millisecond, Device: 1500 * time.Microsecond, Total: 250 * time.Millisecond},
		Trace:   "0af7651916cd43dd8448eb211c80319c",
	}
	vectorFailed = &Result{
		ID: "order-19", Job: digestOf([]byte{0xc0}), State: Failed, Worker: "gpu-1",
		Err: &Failure{Code: CodeInvalidJob, Msg: "queue: malformed job: found nil, expected a map"},
	}
	vectorExpired = &Result{
		ID: "order-18", Circuit: digestHex, Job: digestOf(EncodeJob(vectorWtns)), State: Expired, Attempt: 2, Worker: "gpu-1",
		Err:     &Failure{Code: CodeDeadline, Msg: "deadline 2027-01-15T08:00:00Z passed"},
		Timings: Timings{Queue: 12500 * time.Microsecond, Total: time.Second},
	}
	vectorProgress = &Progress{
		ID: "order-17", State: Running, Phase: PhaseDevice, Attempt: 1, Worker: "gpu-1", At: time.UnixMilli(1_799_999_999_000), Percent: 50,
	}
	vectorRecord = &Status{
		Progress: *vectorProgress, Attempts: 1, Job: digestOf(EncodeJob(vectorJob)), Subject: JobSubject(Normal, "merkle", "order-17"), Cancelled: true,
		History: []Attempt{{Attempt: 1, Worker: "gpu-1", At: 1_799_999_998_000}},
	}
	vectorSum = digestOf([]byte("witness"))
)

// Each vector says the same three times: here, in JSON, and in bytes.
func TestVectorsOfTheDocumentation(t *testing.T) {
	vectors := readVectors(t)
	checkVector(t, vectors, "job", vectorJob, EncodeJob, DecodeJob)
	checkVector(t, vectors, "job wtns", vectorWtns, EncodeJob, DecodeJob)
	checkVector(t, vectors, "result done", vectorDone, EncodeResult, DecodeResult)
	checkVector(t, vectors, "result failed", vectorFailed, EncodeResult, DecodeResult)
	checkVector(t, vectors, "result expired", vectorExpired, EncodeResult, DecodeResult)
	checkVector(t, vectors, "progress", vectorProgress, EncodeProgress, DecodeProgress)
	checkVector(t, vectors, "record", vectorRecord, encodeStatus, decodeStatus)
	for name := range vectors {
		if !strings.HasPrefix(name, "proof ") { // those are of package groth16
			t.Errorf("docs/wire.md has a vector %q, which isn't tested", name)
		}
	}
}

// vector is one of docs/wire.md: what a message says, and its bytes.
type vector struct {
	says  any
	bytes []byte
}

func readVectors(t *testing.T) map[string]vector {
	t.Helper()
	doc, err := os.ReadFile("../docs/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	vectors := make(map[string]vector)
	for _, m := range regexp.MustCompile("<!-- vector: (.+) -->\n```json\n([^`]+)```\n```\n([^`]+)```\n").FindAllStringSubmatch(string(doc), -1) {
		v := vector{bytes: unhex(t, m[3])}
		if err := json.Unmarshal([]byte(m[2]), &v.says); err != nil {
			t.Fatalf("%s: %v", m[1], err)
		}
		vectors[m[1]] = v
	}
	if n := strings.Count(string(doc), "<!-- vector"); n != len(vectors) {
		t.Fatalf("docs/wire.md has %d vectors, of which %d can be read", n, len(vectors))
	}
	return vectors
}

// checkVector takes the vector out of those that are to be checked.
func checkVector[T any](t *testing.T, vectors map[string]vector, name string, want *T, encode func(*T) []byte, decode func([]byte) (*T, error)) {
	t.Helper()
	v, ok := vectors[name]
	delete(vectors, name)
	if !ok {
		t.Errorf("docs/wire.md has no vector %q", name)
		return
	}
	if got := encode(want); string(got) != string(v.bytes) {
		t.Errorf("%s: encodes as\n%x, the documentation says\n%x", name, got, v.bytes)
	}
	if got, err := decode(v.bytes); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s: decodes as %+v, error %v; want %+v", name, got, err, want)
	}
	var message any
	if err := msgpack.Unmarshal(v.bytes, &message); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if says := inJSON(t, message); !reflect.DeepEqual(says, v.says) {
		t.Errorf("%s: the bytes say\n%v, the documentation says\n%v", name, says, v.says)
	}
}

// inJSON is a message as the documentation writes it, with binary as hex:...
func inJSON(t *testing.T, message any) (says any) {
	t.Helper()
	text, err := json.Marshal(hexed(message))
	if err == nil {
		err = json.Unmarshal(text, &says)
	}
	if err != nil {
		t.Fatal(err)
	}
	return says
}

func hexed(value any) any {
	switch v := value.(type) {
	case []byte:
		return fmt.Sprintf("hex:%x", v)
	case []any:
		for i := range v {
			v[i] = hexed(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = hexed(v[key])
		}
	}
	return value
}
