package queue

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

var testCircuit = CircuitRecord{Name: "merkle", Digest: digestHex, Curve: "bn128", Public: 3}

func circuitSources(t *testing.T) (key, wasm []byte, sources []CircuitSource) {
	t.Helper()
	key, wasm = random(t, 3*chunkBytes+7), random(t, 100)
	return key, wasm, []CircuitSource{source("key.pinion", key), source("circuit.wasm", wasm)}
}

func source(name string, data []byte) CircuitSource {
	return CircuitSource{name, io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data)))}
}

func readCircuit(ctx context.Context, c *Client, files *CircuitFiles, i int) ([]byte, error) {
	r := c.OpenCircuitFile(ctx, files.CircuitRecord, files.Files[i])
	data, err := io.ReadAll(r)
	return data, errors.Join(err, r.Close())
}

// What is stored of a circuit is found by its reference, file by file; storing it again sends nothing.
func TestCircuitFiles(t *testing.T) {
	t.Parallel()
	c := startBroker(t).client()
	key, wasm, sources := circuitSources(t)
	if _, err := c.CircuitFiles(ctx(t), testCircuit.Ref()); !errors.Is(err, ErrUnknownCircuit) {
		t.Errorf("before: %v", err)
	}
	var stages []string
	progress := func(stage string, done, total int64) {
		if total != int64(len(key)+len(wasm)) || done > total {
			t.Errorf("%s: %d of %d", stage, done, total)
		}
		if !slices.Contains(stages, stage) {
			stages = append(stages, stage)
		}
	}
	if err := c.StoreCircuit(ctx(t), testCircuit, sources, false, progress); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(stages, []string{"digest", "upload"}) {
		t.Errorf("stages %v", stages)
	}
	files, err := c.CircuitFiles(ctx(t), testCircuit.Ref())
	want := []CircuitFile{
		{"circuit.wasm", int64(len(wasm)), sha256.Sum256(wasm)},
		{"key.pinion", int64(len(key)), sha256.Sum256(key)},
	}
	if err != nil || files.CircuitRecord != testCircuit || !slices.Equal(files.Files, want) {
		t.Fatalf("%+v, %v", files, err)
	}
	for i, want := range [][]byte{wasm, key} {
		if got, err := readCircuit(ctx(t), c, files, i); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v", files.Files[i].Name, len(got), err)
		}
	}
	if _, err := c.Circuit(ctx(t), testCircuit.Name); !errors.Is(err, ErrUnknownCircuit) {
		t.Errorf("the name is registered already: %v", err)
	}
	before := lastSequence(t, c)
	if err := c.StoreCircuit(ctx(t), testCircuit, sources, false, nil); err != nil {
		t.Error(err)
	}
	if after := lastSequence(t, c); after != before {
		t.Errorf("storing it again sent %d messages", after-before)
	}
}

// storedCircuit stores a circuit and returns its files, and the first part of its key with what the bucket says of that.
func storedCircuit(t *testing.T, c *Client, sources []CircuitSource) (files *CircuitFiles, part string, info *jetstream.ObjectInfo) {
	t.Helper()
	if err := c.StoreCircuit(ctx(t), testCircuit, sources, false, nil); err != nil {
		t.Fatal(err)
	}
	files, err := c.CircuitFiles(ctx(t), testCircuit.Ref())
	if err != nil {
		t.Fatal(err)
	}
	part, _ = files.Files[1].part(testCircuit, 0)
	if info, err = c.circuits.info(ctx(t), part); err != nil {
		t.Fatal(err)
	}
	return files, part, info
}

// Storing a circuit again mends what the bucket has lost of it.
func TestCircuitPushMends(t *testing.T) {
	t.Parallel()
	c := startBroker(t).client()
	key, _, sources := circuitSources(t)
	files, _, info := storedCircuit(t, c, sources)
	if err := circuitStream(t, c).Purge(ctx(t), jetstream.WithPurgeSubject(c.circuits.chunkSubject(info.NUID)), jetstream.WithPurgeKeep(2)); err != nil {
		t.Fatal(err)
	}
	if _, err := readCircuit(ctx(t), c, files, 1); !errors.Is(err, ErrCircuitDamaged) {
		t.Errorf("%v, expected ErrCircuitDamaged", err)
	}
	if err := c.StoreCircuit(ctx(t), testCircuit, sources, false, nil); err != nil {
		t.Fatal(err)
	}
	if got, err := readCircuit(ctx(t), c, files, 1); err != nil || !bytes.Equal(got, key) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func circuitStream(t *testing.T, c *Client) jetstream.Stream {
	t.Helper()
	stream, err := c.js.Stream(ctx(t), "OBJ_"+BucketCircuits)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

func lastSequence(t *testing.T, c *Client) uint64 {
	t.Helper()
	info, err := circuitStream(t, c).Info(ctx(t))
	if err != nil {
		t.Fatal(err)
	}
	return info.State.LastSeq
}

// A push that broke off is not seen, and goes on where it was.
func TestCircuitPushGoesOn(t *testing.T) {
	t.Parallel()
	c := startBroker(t).client()
	key, _, sources := circuitSources(t)
	stop, cancel := context.WithCancel(ctx(t))
	err := c.StoreCircuit(stop, testCircuit, sources, false, func(stage string, done, _ int64) {
		if stage == "upload" && done > 100 { // of the second file
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	if _, err := c.CircuitFiles(ctx(t), testCircuit.Ref()); !errors.Is(err, ErrUnknownCircuit) {
		t.Errorf("half a circuit is seen: %v", err)
	}
	before := lastSequence(t, c)
	if err := c.StoreCircuit(ctx(t), testCircuit, sources, false, nil); err != nil {
		t.Fatal(err)
	}
	// Four chunks of the key and its description, and that of the circuit: nothing of the first file.
	if sent := lastSequence(t, c) - before; sent != 6 {
		t.Errorf("%d messages sent, expected 6", sent)
	}
	files, err := c.CircuitFiles(ctx(t), testCircuit.Ref())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := readCircuit(ctx(t), c, files, 1); err != nil || !bytes.Equal(got, key) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// Another circuit of the same reference is refused, or replaces the first and its parts.
func TestCircuitOfOtherFiles(t *testing.T) {
	t.Parallel()
	c := startBroker(t).client()
	key, wasm, sources := circuitSources(t)
	if err := c.StoreCircuit(ctx(t), testCircuit, sources, false, nil); err != nil {
		t.Fatal(err)
	}
	others := []CircuitSource{source("key.pinion", key), source("circuit.wasm", append(wasm, 1))}
	if err := c.StoreCircuit(ctx(t), testCircuit, others, false, nil); !errors.Is(err, ErrCircuitConflict) {
		t.Errorf("%v, expected ErrCircuitConflict", err)
	}
	old, err := c.CircuitFiles(ctx(t), testCircuit.Ref())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.StoreCircuit(ctx(t), testCircuit, others, true, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := readCircuit(ctx(t), c, old, 0); !errors.Is(err, ErrCircuitDamaged) {
		t.Errorf("what was replaced is there: %v", err)
	}
	files, err := c.CircuitFiles(ctx(t), testCircuit.Ref())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]byte{append(wasm, 1), key} {
		if got, err := readCircuit(ctx(t), c, files, i); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v", files.Files[i].Name, len(got), err)
		}
	}
}

// A circuit that is damaged in the bucket is told so at the end of the reading at the latest, and never as io.EOF.
func TestQ11DamagedCircuit(t *testing.T) {
	t.Parallel()
	c := startBroker(t).client()
	key, _, sources := circuitSources(t)
	files, part, info := storedCircuit(t, c, sources)
	for _, x := range []struct {
		name  string
		harm  func() error
		wants string
	}{
		{"other bytes under the same name", func() error {
			other := bytes.Clone(key)
			other[5] ^= 1
			return c.circuits.put(ctx(t), part, sha256.Sum256(other), bytes.NewReader(other), nil)
		}, "queue: circuit is damaged in the bucket: key.pinion of " + testCircuit.Ref() + ": found sha256 "},
		{"other length", func() error {
			return c.circuits.put(ctx(t), part, sha256.Sum256(key[1:]), bytes.NewReader(key[1:]), nil)
		}, "queue: circuit is damaged in the bucket: object " + part + ": found 1572870 bytes, expected 1572871"},
		{"no digest", func() error {
			plain := *info
			plain.Digest = ""
			return c.circuits.putInfo(ctx(t), &plain)
		}, "queue: circuit is damaged in the bucket: object " + part + ": found sha256 "},
		{"chunks gone", func() error {
			if err := c.circuits.putInfo(ctx(t), info); err != nil {
				return err
			}
			return circuitStream(t, c).Purge(ctx(t), jetstream.WithPurgeSubject(c.circuits.chunkSubject(info.NUID)))
		}, "queue: circuit is damaged in the bucket: object " + part + ": found 0 of 1572871 bytes"},
		{"deleted", func() error { return c.circuits.remove(ctx(t), part) }, "queue: circuit is damaged in the bucket: object " + part + ": deleted"},
	} {
		if err := x.harm(); err != nil {
			t.Fatal(err)
		}
		if _, err := readCircuit(ctx(t), c, files, 1); !errors.Is(err, ErrCircuitDamaged) || !strings.HasPrefix(err.Error(), x.wants) {
			t.Errorf("%s: %v\nwant %s", x.name, err, x.wants)
		}
	}
}

// What the bucket says of circuits is hostile too.
func TestHostileCircuitFiles(t *testing.T) {
	t.Parallel()
	good := map[string]string{"digest": digestHex, "curve": "bn128", "public": "3", "file.key.pinion": "10 " + strings.Repeat("ab", 32)}
	if _, err := parseCircuitFiles("merkle", digestHex, good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(m map[string]string){
		"no files": func(m map[string]string) { delete(m, "file.key.pinion") },
		"many files": func(m map[string]string) {
			m["file.a"], m["file.b"] = m["file.key.pinion"], m["file.key.pinion"]
			m["file.c"], m["file.d"] = m["file.a"], m["file.b"]
			m["file.e"], m["file.f"] = m["file.a"], m["file.b"]
			m["file.g"], m["file.h"] = m["file.a"], m["file.b"]
		},
		"no length":      func(m map[string]string) { m["file.key.pinion"] = strings.Repeat("ab", 32) },
		"no digest":      func(m map[string]string) { m["file.key.pinion"] = "10" },
		"bad digest":     func(m map[string]string) { m["file.key.pinion"] = "10 " + strings.Repeat("xy", 32) },
		"empty file":     func(m map[string]string) { m["file.key.pinion"] = "0 " + strings.Repeat("ab", 32) },
		"negative":       func(m map[string]string) { m["file.key.pinion"] = "-1 " + strings.Repeat("ab", 32) },
		"too long":       func(m map[string]string) { m["file.key.pinion"] = "99999999999999999 " + strings.Repeat("ab", 32) },
		"no name":        func(m map[string]string) { m["file."] = m["file.key.pinion"] },
		"long name":      func(m map[string]string) { m["file."+strings.Repeat("x", 65)] = m["file.key.pinion"] },
		"another digest": func(m map[string]string) { m["digest"] = strings.Repeat("ab", 32) },
		"no public":      func(m map[string]string) { delete(m, "public") },
	} {
		m := maps.Clone(good)
		change(m)
		if _, err := parseCircuitFiles("merkle", digestHex, m); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v, expected ErrMalformed", name, err)
		}
	}
}

// The list tells which circuit a name means; that one can't be removed, and another can.
func TestStoredCircuits(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	if stored, err := c.StoredCircuits(ctx(t)); err != nil || len(stored) != 0 {
		t.Errorf("%v, %v", stored, err)
	}
	second := testCircuit
	second.Digest = strings.Repeat("ab", 32)
	_, _, sources := circuitSources(t)
	for _, r := range []CircuitRecord{testCircuit, second} {
		if err := c.StoreCircuit(ctx(t), r, sources, false, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.RegisterCircuit(ctx(t), second, false); err != nil {
		t.Fatal(err)
	}
	stored, err := c.StoredCircuits(ctx(t))
	if err != nil || len(stored) != 2 || stored[0].Current || stored[0].CircuitRecord != testCircuit || !stored[1].Current || stored[1].Bytes() != 3*chunkBytes+107 {
		t.Fatalf("%+v, %v", stored, err)
	}
	if err := c.RemoveCircuit(ctx(t), second.Ref()); !errors.Is(err, ErrCircuitConflict) {
		t.Errorf("%v, expected ErrCircuitConflict", err)
	}
	if err := c.RemoveCircuit(ctx(t), testCircuit.Ref()); err != nil {
		t.Error(err)
	}
	if err := c.RemoveCircuit(ctx(t), testCircuit.Ref()); !errors.Is(err, ErrUnknownCircuit) {
		t.Errorf("%v, expected ErrUnknownCircuit", err)
	}
	files, err := c.CircuitFiles(ctx(t), second.Ref())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readCircuit(ctx(t), c, files, 1); err != nil {
		t.Error(err)
	}
	// The removed one's chunks are gone: what is left is one circuit's.
	b.eventually("only the other circuit's two files have chunks", func() bool {
		info, err := circuitStream(t, c).Info(ctx(t), jetstream.WithSubjectFilter("$O."+BucketCircuits+".C.>"))
		return err == nil && len(info.State.Subjects) == 2
	})
}
