package queue

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// CircuitFiles are what [BucketCircuits] has of a circuit, so that a worker
// that lacks it can fetch it by the reference that jobs carry. Each file lies
// there in parts of up to 256 MiB; an empty object, stored last, has the files'
// names, lengths and digests as its metadata, beside those of the record.
type CircuitFiles struct {
	CircuitRecord
	Files []CircuitFile // in order of their names
}

// CircuitFile is one file of a circuit.
type CircuitFile struct {
	Name   string
	Len    int64
	SHA256 [32]byte
}

// Limits of a circuit's files: far above what the largest have.
const (
	maxCircuitFiles = 8
	maxCircuitBytes = 1 << 44
)

// circuitPart is the length of all parts of a file but the last. Names of
// parts depend on it, so it is part of the contract.
const circuitPart = 256 << 20

// fileKey begins the keys in the metadata that stand for files.
const fileKey = "file."

// storedName is the name of the object that describes a stored circuit.
func (r CircuitRecord) storedName() string { return "circuit." + r.Name + "." + r.Digest }

// parts is how many parts a file has.
func (f *CircuitFile) parts() int64 { return (f.Len + circuitPart - 1) / circuitPart }

// part names a file's i-th part, a content address, and tells its length.
func (f *CircuitFile) part(r CircuitRecord, i int64) (object string, size int64) {
	return fmt.Sprintf("%s.%x.%d", r.storedName(), f.SHA256, i), min(circuitPart, f.Len-i*circuitPart)
}

// Bytes is the length of all files.
func (f *CircuitFiles) Bytes() (n int64) {
	for _, file := range f.Files {
		n += file.Len
	}
	return n
}

// CircuitFiles says what is stored of a circuit, name@sha256, or
// ErrUnknownCircuit.
func (c *Client) CircuitFiles(ctx context.Context, ref string) (*CircuitFiles, error) {
	name, digest, err := ParseCircuit(ref)
	if err != nil {
		return nil, err
	}
	info, err := c.circuits.info(ctx, CircuitRecord{Name: name, Digest: digest}.storedName())
	if errors.Is(err, jetstream.ErrObjectNotFound) || err == nil && info.Deleted {
		return nil, fmt.Errorf("%w: %s isn't in the bucket", ErrUnknownCircuit, ref)
	} else if err != nil {
		return nil, err
	}
	return parseCircuitFiles(name, digest, info.Metadata)
}

func (f *CircuitFiles) metadata() map[string]string {
	metadata := f.CircuitRecord.metadata()
	for _, file := range f.Files {
		metadata[fileKey+file.Name] = fmt.Sprintf("%d %x", file.Len, file.SHA256)
	}
	return metadata
}

// parseCircuitFiles is the inverse of metadata.
func parseCircuitFiles(name, digest string, metadata map[string]string) (*CircuitFiles, error) {
	record, err := parseRecord(name, metadata)
	if err != nil {
		return nil, err
	}
	if record.Digest != digest {
		return nil, &MalformedError{"circuit", name, "digest " + record.Digest, digest}
	}
	f := &CircuitFiles{CircuitRecord: record}
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		file, is := strings.CutPrefix(key, fileKey)
		if !is {
			continue
		}
		size, sum, _ := strings.Cut(metadata[key], " ")
		n, err := strconv.ParseInt(size, 10, 64)
		if err != nil || !validDigest(sum) {
			return nil, &MalformedError{"circuit", f.Ref(), fmt.Sprintf("%.80q: %.100q", key, metadata[key]), "a file's length and sha256"}
		}
		f.Files = append(f.Files, CircuitFile{Name: file, Len: n})
		if _, err := hex.Decode(f.Files[len(f.Files)-1].SHA256[:], []byte(sum)); err != nil {
			return nil, fmt.Errorf("queue: circuit %s: %w", f.Ref(), err)
		}
	}
	return f, f.validate()
}

func (f *CircuitFiles) validate() error {
	if n := len(f.Files); n < 1 || n > maxCircuitFiles {
		return &MalformedError{"circuit", f.Ref(), fmt.Sprintf("%d files", n), fmt.Sprintf("1 to %d", maxCircuitFiles)}
	}
	for _, file := range f.Files {
		if file.Name == "" || len(file.Name) > 64 || file.Len < 1 || file.Len > maxCircuitBytes {
			return &MalformedError{"circuit", f.Ref(), fmt.Sprintf("file %.80q of %d bytes", file.Name, file.Len),
				fmt.Sprintf("a name of 1 to 64 bytes, and 1 to %d bytes", int64(maxCircuitBytes))}
		}
	}
	return nil
}
