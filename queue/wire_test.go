package queue

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// The vectors of docs/wire.md, which people implement against.
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
	vectorDone = &Result{
		ID: "order-17", Circuit: digestHex, Job: digestOf(EncodeJob(vectorJob)), State: Done,
		Proofs:  []Proof{{Proof: make([]byte, 128), Public: append(make([]byte, 31), 9)}, {Proof: make([]byte, 128), Public: []byte{}}},
		Attempt: 1, Worker: "gpu-1", Device: "cpu",
		Timings: Timings{Queue: 2 * time.Millisecond, Device: 1500 * time.Microsecond, Total: 250 * time.Millisecond},
		Trace:   "0af7651916cd43dd8448eb211c80319c",
	}
	vectorFailed = &Result{
		ID: "order-18", Job: digestOf([]byte{0xc0}), State: Failed, Worker: "gpu-1",
		Err: &Failure{Code: CodeInvalidJob, Msg: "queue: malformed job: found nil, expected a map"},
	}
	vectorSum = digestOf([]byte("witness"))
)

func TestVectorsOfTheDocumentation(t *testing.T) {
	doc, err := os.ReadFile("../docs/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	vector := func(name string) []byte {
		_, rest, found := strings.Cut(string(doc), "<!-- vector: "+name+" -->\n```\n")
		hex, _, closed := strings.Cut(rest, "```")
		if !found || !closed {
			t.Fatalf("docs/wire.md has no vector %q", name)
		}
		return unhex(t, hex)
	}
	check := func(name string, encoded []byte, decoded, want any, err error) {
		t.Helper()
		if err != nil || !reflect.DeepEqual(decoded, want) {
			t.Errorf("%s: decodes as %+v, error %v; want %+v", name, decoded, err, want)
		}
		if got := vector(name); string(got) != string(encoded) {
			t.Errorf("%s: encodes as\n%x, the documentation says\n%x", name, encoded, got)
		}
	}
	job, err := DecodeJob(vector("job"))
	check("job", EncodeJob(vectorJob), job, vectorJob, err)
	for name, want := range map[string]*Result{"result done": vectorDone, "result failed": vectorFailed} {
		r, err := DecodeResult(vector(name))
		check(name, EncodeResult(want), r, want, err)
	}
}
