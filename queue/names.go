package queue

import (
	"fmt"
	"strings"
)

// Streams and buckets of the contract. Tenants are NATS accounts, so the
// names are the same everywhere.
const (
	StreamJobs     = "PINION_JOBS"
	StreamResults  = "PINION_RESULTS"
	StreamDead     = "PINION_DEAD"
	BucketState    = "pinion_state"
	BucketWitness  = "pinion_witness"
	BucketCircuits = "pinion_circuits"
)

// Limits of the contract.
const (
	// MaxJobBytes bounds headers and body of a job's message. A dead letter
	// adds headers to them and must still fit the broker's usual 1 MiB.
	MaxJobBytes = 960 << 10
	// MaxResultBytes bounds headers and body of a result's message.
	MaxResultBytes = 960 << 10
	// MaxWitnesses bounds the proofs of one job.
	MaxWitnesses = 64
	// MaxMeta bounds the pairs in a job's meta, MaxMetaKey and MaxMetaValue
	// the bytes of a key and a value.
	MaxMeta      = 16
	MaxMetaKey   = 64
	MaxMetaValue = 256
	// MaxReply bounds the bytes of a reply subject.
	MaxReply = 256
	// MaxAttempts is how often a job's work may begin.
	MaxAttempts = 3
)

// Headers of jobs, dead letters and replies.
const (
	// HeaderReplyTo names the reply subject when the job's body doesn't. The
	// message's own reply subject can't: JetStream acknowledges to it.
	HeaderReplyTo = "Pinion-Reply-To"
	HeaderKind    = "Pinion-Kind"
	HeaderJob     = "Pinion-Job"
	HeaderAttempt = "Pinion-Attempt"
	HeaderFinal   = "Pinion-Final"
	// HeaderSubject, HeaderCode, HeaderError, HeaderWorker and HeaderHistory
	// are on dead letters. History is JSON, an array of [Attempt].
	HeaderSubject = "Pinion-Subject"
	HeaderCode    = "Pinion-Code"
	HeaderError   = "Pinion-Error"
	HeaderWorker  = "Pinion-Worker"
	HeaderHistory = "Pinion-History"
)

// Content types of the messages.
const (
	ContentJob      = "application/vnd.pinion.job+msgpack;v=1"
	ContentResult   = "application/vnd.pinion.result+msgpack;v=1"
	ContentProgress = "application/vnd.pinion.progress+msgpack;v=1"
	// ContentSpans is an OTLP ExportTraceServiceRequest.
	ContentSpans = "application/x-protobuf"
)

// Priority is the lane of a job. Each lane has its own consumer.
type Priority string

// The lanes, highest first.
const (
	High   Priority = "high"
	Normal Priority = "normal"
	Low    Priority = "low"
)

// Priorities lists the lanes, highest first.
func Priorities() []Priority { return []Priority{High, Normal, Low} }

// Valid reports whether p is one of the lanes.
func (p Priority) Valid() bool { return p == High || p == Normal || p == Low }

// Consumer is the name of the lane's durable consumer on [StreamJobs].
func (p Priority) Consumer() string { return "pinion-" + string(p) }

// Lane is the lane's destination in span names: "pinion.job.<priority>".
func (p Priority) Lane() string { return "pinion.job." + string(p) }

// JobSubject is where a job is queued. All three must be valid: see
// [ValidToken].
func JobSubject(p Priority, circuit, id string) string {
	return p.Lane() + "." + circuit + "." + id
}

// ParseJobSubject takes a job's subject apart.
func ParseJobSubject(subject string) (p Priority, circuit, id string, err error) {
	t := strings.Split(subject, ".")
	if len(t) != 5 || t[0] != "pinion" || t[1] != "job" || !Priority(t[2]).Valid() || !ValidToken(t[3]) || !ValidToken(t[4]) {
		return "", "", "", fmt.Errorf("queue: subject %.200q: expected pinion.job.<high|normal|low>.<circuit>.<job>", subject)
	}
	return Priority(t[2]), t[3], t[4], nil
}

// ResultSubject is where a job's result is stored. The ids of this and of the
// following must be valid: see [ValidToken].
func ResultSubject(id string) string { return "pinion.result." + id }

// DoneSubject is where a stored result is republished.
func DoneSubject(id string) string { return "pinion.done." + id }

// DeadSubject is where a failed job's dead letter is stored.
func DeadSubject(id string) string { return "pinion.dead." + id }

// ProgressSubject is where a job's progress events are published.
func ProgressSubject(id string) string { return "pinion.progress." + id }

// CancelSubject is where a job's worker hears that it is cancelled.
func CancelSubject(id string) string { return "pinion.cancel." + id }

func jobKey(id string) string   { return "job." + id }
func leaseKey(id string) string { return "lease." + id }

// ObjectName is where a job's i-th witness lies in [BucketWitness]: a content
// address, never overwritten.
func ObjectName(id string, i int, sha256 [32]byte) string {
	return fmt.Sprintf("%s.%d.%x", id, i, sha256)
}

// ValidToken reports whether s may be a job's id, a circuit's or a worker's
// name: 1 to 64 of A-Z, a-z, 0-9, '_' and '-'. The broker itself would take
// '*' and '>' in a published subject.
func ValidToken(s string) bool {
	if len(s) == 0 || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		if !tokenByte(s[i]) {
			return false
		}
	}
	return true
}

func tokenByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// ParseCircuit takes a circuit reference, name@sha256 with the digest in 64
// lower-case hexadecimal digits, apart.
func ParseCircuit(ref string) (name, digest string, err error) {
	name, digest, _ = strings.Cut(ref, "@")
	if !ValidToken(name) || !validDigest(digest) {
		return "", "", fmt.Errorf("queue: circuit %.200q: expected name@sha256 with 64 lower-case hexadecimal digits", ref)
	}
	return name, digest, nil
}

func validDigest(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// validSubject reports whether s can be published to: no empty token, no
// wildcard, no space or control character.
func validSubject(s string) bool {
	if s == "" || len(s) > MaxReply {
		return false
	}
	for t := range strings.SplitSeq(s, ".") {
		if t == "" || strings.ContainsFunc(t, func(r rune) bool { return r <= ' ' || r == '*' || r == '>' || r == 0x7f }) {
			return false
		}
	}
	return true
}
