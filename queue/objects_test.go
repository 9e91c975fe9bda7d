package queue

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// storeObject stores a witness of a job and returns its reference.
func storeObject(t *testing.T, c *Client, id string, data []byte) *Object {
	t.Helper()
	sum := sha256.Sum256(data)
	o := &Object{Name: ObjectName(id, 0, sum), Len: int64(len(data)), SHA256: sum}
	if err := c.witness.put(ctx(t), o.Name, sum, bytes.NewReader(data), nil); err != nil {
		t.Fatal(err)
	}
	return o
}

func random(t *testing.T, n int) []byte {
	t.Helper()
	data := make([]byte, n)
	if _, err := rand.Read(data); err != nil {
		t.Fatal(err)
	}
	return data
}

func readObject(ctx context.Context, c *Client, o *Object) ([]byte, error) {
	r, err := c.witness.open(ctx, o)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(r)
	return data, errors.Join(err, r.Close())
}

// nativeBucket is the bucket of the witnesses as the client library has it.
func nativeBucket(t *testing.T, c *Client) jetstream.ObjectStore {
	t.Helper()
	bucket, err := c.js.ObjectStore(ctx(t), BucketWitness)
	if err != nil {
		t.Fatal(err)
	}
	return bucket
}

func witnessStream(t *testing.T, c *Client) jetstream.Stream {
	t.Helper()
	stream, err := c.js.Stream(ctx(t), "OBJ_"+BucketWitness)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

func TestObjectsOfAllSizes(t *testing.T) {
	t.Parallel()
	c := startBroker(t).client()
	// Around one chunk, one read window, and one upload window.
	for _, n := range []int{1, chunkBytes - 1, chunkBytes, chunkBytes + 1, readWindow * chunkBytes, readWindow*chunkBytes + 1, (uploadWindow + 2) * chunkBytes} {
		data := random(t, n)
		o := storeObject(t, c, fmt.Sprint("size-", n), data)
		if got, err := readObject(ctx(t), c, o); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes: read %d, error %v", n, len(got), err)
		}
	}
}

func TestObjectsAreNATSObjects(t *testing.T) {
	t.Parallel()
	c := startBroker(t).client()
	data := random(t, chunkBytes+100)
	o := storeObject(t, c, "ours", data)
	if got, err := nativeBucket(t, c).GetBytes(ctx(t), o.Name); err != nil || !bytes.Equal(got, data) {
		t.Errorf("read by the client library: %d bytes, error %v", len(got), err)
	}
	sum := sha256.Sum256(data)
	theirs := &Object{Name: ObjectName("theirs", 0, sum), Len: int64(len(data)), SHA256: sum}
	if _, err := nativeBucket(t, c).PutBytes(ctx(t), theirs.Name, data); err != nil {
		t.Fatal(err)
	}
	if got, err := readObject(ctx(t), c, theirs); err != nil || !bytes.Equal(got, data) {
		t.Errorf("written by the client library: %d bytes, error %v", len(got), err)
	}
}

func TestQ11DamagedObjects(t *testing.T) {
	t.Parallel()
	c := startBroker(t).client()
	data := random(t, 3*chunkBytes)
	for _, tt := range []struct {
		name   string
		damage func(o *Object)
		code   Code
		retry  bool
		msg    string
	}{
		{"flipped byte", func(o *Object) {
			flipped := bytes.Clone(data)
			flipped[chunkBytes+5] ^= 1
			if err := c.witness.put(ctx(t), o.Name, sha256.Sum256(flipped), bytes.NewReader(flipped), nil); err != nil {
				t.Fatal(err)
			}
		}, CodeWitnessDigest, false, "object %[1]s: found sha256 "},
		{"dropped chunk", func(o *Object) { dropChunk(t, c, o, 1) }, CodeWitnessMissing, true, "object %[1]s: found 1048576 of 1572864 bytes"},
		{"dropped chunks", func(o *Object) {
			for range 3 {
				dropChunk(t, c, o, 0)
			}
		}, CodeWitnessMissing, true, "object %[1]s: found 0 of 1572864 bytes"},
		{"deleted", func(o *Object) {
			if err := c.witness.remove(ctx(t), o.Name); err != nil {
				t.Fatal(err)
			}
		}, CodeWitnessMissing, false, "object %[1]s: deleted"},
		{"never there", func(o *Object) { o.Name = "x" + o.Name }, CodeWitnessMissing, true, "object %[1]s: not in bucket pinion_witness"},
		{"chunk that looks like an answer of the broker", func(o *Object) {
			for range 3 {
				dropChunk(t, c, o, 0)
			}
			info, err := nativeBucket(t, c).GetInfo(ctx(t), o.Name)
			if err != nil {
				t.Fatal(err)
			}
			msg := &nats.Msg{Subject: c.witness.chunkSubject(info.NUID), Data: []byte("x"), Header: nats.Header{
				"Status": {"204"}, "Nats-Num-Pending": {"7"}, "Nats-Sequence": {"1"},
			}}
			if _, err := c.js.PublishMsg(ctx(t), msg); err != nil {
				t.Fatal(err)
			}
		}, CodeWitnessMissing, true, "object %[1]s: found 1 of 1572864 bytes"},
		{"shorter than it says", func(o *Object) { o.Len++ }, CodeWitnessDigest, false, "object %[1]s: found 1572864 bytes, expected 1572865"},
	} {
		o := storeObject(t, c, "damaged", data)
		tt.damage(o)
		_, err := readObject(ctx(t), c, o)
		var f *Failure
		if !errors.As(err, &f) || f.Code != tt.code || f.Retry != tt.retry {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.code)
			continue
		}
		if want := fmt.Sprintf(tt.msg, o.Name); len(f.Msg) < len(want) || f.Msg[:len(want)] != want {
			t.Errorf("%s: %q, want %q", tt.name, f.Msg, want)
		}
	}
}

// dropChunk removes the i-th of the chunks that are there.
func dropChunk(t *testing.T, c *Client, o *Object, i int) {
	t.Helper()
	info, err := nativeBucket(t, c).GetInfo(ctx(t), o.Name)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := witnessStream(t, c).Info(ctx(t))
	if err != nil {
		t.Fatal(err)
	}
	for seq := stream.State.FirstSeq; seq <= stream.State.LastSeq; seq++ {
		m, err := witnessStream(t, c).GetMsg(ctx(t), seq)
		if err != nil || m.Subject != c.witness.chunkSubject(info.NUID) {
			continue
		}
		if i == 0 {
			if err := witnessStream(t, c).DeleteMsg(ctx(t), seq); err != nil {
				t.Fatal(err)
			}
			return
		}
		i--
	}
	t.Fatal("no such chunk")
}

// What happens to an object while it is read: the error is typed, and nothing hangs.
func TestQ11ObjectChangedDuringTheRead(t *testing.T) {
	t.Parallel()
	c := startBroker(t).client()
	for name, change := range map[string]func(o *Object) error{
		"deleted": func(o *Object) error { return c.witness.remove(ctx(t), o.Name) },
		"overwritten": func(o *Object) error {
			_, err := nativeBucket(t, c).PutBytes(ctx(t), o.Name, make([]byte, o.Len))
			return err
		},
		"robbed of a chunk": func(o *Object) error {
			dropChunk(t, c, o, 2*readWindow-1)
			return nil
		},
	} {
		o := storeObject(t, c, "evicted", random(t, 2*readWindow*chunkBytes))
		r, err := c.witness.open(ctx(t), o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(r, make([]byte, chunkBytes)); err != nil {
			t.Fatal(err)
		}
		if err := change(o); err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, r)
		var f *Failure
		if !errors.As(err, &f) || f.Code != CodeWitnessMissing {
			t.Errorf("%s: %v, want %s", name, err, CodeWitnessMissing)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestObjectReadHonoursItsContext(t *testing.T) {
	t.Parallel()
	c := startBroker(t).client()
	o := storeObject(t, c, "slow", random(t, 2*readWindow*chunkBytes))
	ctx, cancel := context.WithCancelCause(ctx(t))
	r, err := c.witness.open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadFull(r, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	cancel(ErrCancelled)
	if _, err := io.Copy(io.Discard, r); !errors.Is(err, ErrCancelled) {
		t.Errorf("%v, want the context's cause", err)
	}
}

func TestFailedUploadLeavesNothing(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	broken := errors.New("disk on fire")
	r := io.MultiReader(bytes.NewReader(random(t, 2*chunkBytes)), &failingReader{broken})
	if err := c.witness.put(ctx(t), "x", [32]byte{}, r, nil); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
	err := c.witness.put(ctx(t), "y", [32]byte{}, bytes.NewReader([]byte("other bytes")), nil)
	if err == nil || err.Error() != "queue: upload object y: it changed since its digest was taken" {
		t.Error(err)
	}
	b.eventually("nothing left", func() bool { return witnessStream(t, c).CachedInfo().State.Msgs == 0 })
}

type failingReader struct{ err error }

func (r *failingReader) Read([]byte) (int, error) { return 0, r.err }

// A witness that goes, before the job or in the middle of it: the job ends as failed and says so, at once where it can't come back.
func TestQ20WitnessGoneEndsTheJob(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		before  func(c *Client, o *Object)
		during  func(c *Client, o *Object)
		attempt int
		msg     string
	}{
		{"deleted before", remove(t), nothing, 1, "object %s: deleted"},
		{"deleted during", nothing, remove(t), 2, "object %s: deleted"},
		{"chunk gone", func(c *Client, o *Object) { dropChunk(t, c, o, 1) }, nothing, MaxAttempts, "object %s: found 7864320 of 8388608 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := startBroker(t)
			c := b.client()
			r := request("robbed")
			r.Witnesses = []Source{Wtns(random(t, readWindow*chunkBytes))}
			b.submit(c, r)
			o, err := reference(r.ID, 0, r.Witnesses[0].wtns)
			if err != nil {
				t.Fatal(err)
			}
			tt.before(c, o)
			b.startWorker(func(ctx context.Context, d *Delivery) (*Outcome, error) {
				r, err := d.Open(ctx, 0)
				if err != nil {
					return nil, err
				}
				defer r.Close()
				if _, err := io.ReadFull(r, make([]byte, 100)); err != nil {
					return nil, err
				}
				tt.during(c, o)
				_, err = io.Copy(io.Discard, r)
				return nil, err
			})
			got := b.await(c, r.ID, Failed)
			if want := fmt.Sprintf(tt.msg, o.Name); got.Err.Code != CodeWitnessMissing || got.Attempt != tt.attempt || !strings.HasPrefix(got.Err.Msg, want) {
				t.Errorf("attempt %d: %v; want attempt %d: %s: %s", got.Attempt, got.Err, tt.attempt, CodeWitnessMissing, want)
			}
			b.awaitEmpty(c.js)
			if l := b.deadLetters(c.js, r.ID); len(l) != 1 {
				t.Errorf("%d dead letters", len(l))
			}
		})
	}
}

func nothing(*Client, *Object) {}

func remove(t *testing.T) func(*Client, *Object) {
	return func(c *Client, o *Object) {
		if err := c.witness.remove(t.Context(), o.Name); err != nil {
			t.Error(err)
		}
	}
}
