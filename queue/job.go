package queue

import "time"

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
