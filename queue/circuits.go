package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// CircuitRecord says what a circuit's name means, so that no two workers
// mean two keys by one name and clients can resolve bare names. It is an
// empty object in [BucketCircuits] with the fields as its metadata.
type CircuitRecord struct {
	Name   string
	Digest string // hexadecimal sha256 of the proving key's file
	Curve  string
	Public int // number of public signals
}

// Ref is name@sha256.
func (r CircuitRecord) Ref() string { return r.Name + "@" + r.Digest }

func recordName(circuit string) string { return "name." + circuit }

// RegisterCircuit stores the record. A name that is registered with another
// digest is ErrCircuitConflict, unless replace is set. Of two that register a
// new name at the same moment both may succeed, and the later record stays:
// jobs carry the digest, so none is proven with the wrong key.
func (c *Client) RegisterCircuit(ctx context.Context, r CircuitRecord, replace bool) error {
	if _, _, err := ParseCircuit(r.Ref()); err != nil {
		return err
	}
	old, err := c.Circuit(ctx, r.Name)
	switch {
	case errors.Is(err, ErrUnknownCircuit):
	case err != nil:
		return err
	case old == r:
		return nil
	case old.Digest != r.Digest && !replace:
		return fmt.Errorf("%w: %s, not %s", ErrCircuitConflict, old.Ref(), r.Digest)
	}
	return c.putEmpty(ctx, recordName(r.Name), r.metadata())
}

// putEmpty stores an object that is but its metadata.
func (c *Client) putEmpty(ctx context.Context, name string, metadata map[string]string) error {
	return c.circuits.putInfo(ctx, &jetstream.ObjectInfo{
		ObjectMeta: jetstream.ObjectMeta{Name: name, Metadata: metadata}, Bucket: BucketCircuits, NUID: nuid.Next(),
	})
}

func (r CircuitRecord) metadata() map[string]string {
	return map[string]string{"digest": r.Digest, "curve": r.Curve, "public": strconv.Itoa(r.Public)}
}

// parseRecord is the inverse of metadata.
func parseRecord(name string, metadata map[string]string) (CircuitRecord, error) {
	r := CircuitRecord{Name: name, Digest: metadata["digest"], Curve: metadata["curve"]}
	var err error
	r.Public, err = strconv.Atoi(metadata["public"])
	if err != nil || r.Public < 0 || !validDigest(r.Digest) {
		return CircuitRecord{}, &MalformedError{"circuit record", name, fmt.Sprintf("%.200q", metadata), "digest, curve and public"}
	}
	return r, nil
}

// Circuit looks a name up, or returns ErrUnknownCircuit.
func (c *Client) Circuit(ctx context.Context, name string) (CircuitRecord, error) {
	if !ValidToken(name) {
		return CircuitRecord{}, fmt.Errorf("%w: %.80q", ErrUnknownCircuit, name)
	}
	info, err := c.circuits.info(ctx, recordName(name))
	if errors.Is(err, jetstream.ErrObjectNotFound) || err == nil && info.Deleted {
		return CircuitRecord{}, fmt.Errorf("%w: %s", ErrUnknownCircuit, name)
	} else if err != nil {
		return CircuitRecord{}, err
	}
	return parseRecord(name, info.Metadata)
}
