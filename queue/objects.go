package queue

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Sizes of transfers. Memory in flight is a window of chunks on either side.
const (
	chunkBytes   = 512 << 10
	uploadWindow = 64 // chunks that may wait for the broker's answer
)

// objects is an object bucket in NATS's format, so that `nats object` and
// other clients read and write it. It transfers in its own way: the client
// library's upload has no window, and the broker refuses what it can't buffer;
// its download ends after five seconds without a deadline, and hangs if a
// chunk is gone.
type objects struct {
	nc     *nats.Conn
	js     jetstream.JetStream
	bucket string
}

// stream is the name of the stream behind the bucket.
func (o *objects) stream() string { return "OBJ_" + o.bucket }

func (o *objects) chunkSubject(id string) string { return "$O." + o.bucket + ".C." + id }

func (o *objects) infoSubject(name string) string {
	return "$O." + o.bucket + ".M." + base64.URLEncoding.EncodeToString([]byte(name))
}

// asksLeader reports that all who read the bucket may write to it, too, which
// it takes to ask the leader. Circuits are read long after they were stored.
func (o *objects) asksLeader() bool { return o.bucket == BucketWitness }

// info looks an object up, or the trace of a deleted one.
// jetstream.ErrObjectNotFound if there is neither, or if a replica is behind:
// see infoNow.
func (o *objects) info(ctx context.Context, name string) (*jetstream.ObjectInfo, error) {
	msg, err := lastMessage(ctx, o.nc, o.stream(), o.infoSubject(name))
	return readInfo(name, msg, err)
}

// infoNow is info as the leader knows it, if it may be asked.
func (o *objects) infoNow(ctx context.Context, name string) (*jetstream.ObjectInfo, error) {
	info, err := o.info(ctx, name)
	if err == nil && !info.Deleted || !o.asksLeader() {
		return info, err
	}
	msg, err := newest(ctx, o.js, o.stream(), o.infoSubject(name))
	return readInfo(name, msg, err)
}

func readInfo(name string, msg *jetstream.RawStreamMsg, err error) (*jetstream.ObjectInfo, error) {
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, jetstream.ErrObjectNotFound
	} else if err != nil {
		return nil, fmt.Errorf("queue: look up object %s: %w", name, err)
	}
	info := new(jetstream.ObjectInfo)
	if err := json.Unmarshal(msg.Data, info); err != nil {
		return nil, fmt.Errorf("queue: look up object %s: %w", name, jetstream.ErrBadObjectMeta)
	}
	return info, nil
}

// list looks up all objects of the bucket, those that were deleted excepted.
func (o *objects) list(ctx context.Context) ([]*jetstream.ObjectInfo, error) {
	r, err := newDirectReader(o.nc, o.stream(), "$O."+o.bucket+".M.*")
	if err != nil {
		return nil, fmt.Errorf("queue: list objects of %s: %w", o.bucket, err)
	}
	defer func() { _ = r.close() }()
	last := map[string]*jetstream.ObjectInfo{} // one that changes comes again
	for {
		msg, err := r.message(ctx)
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("queue: list objects of %s: %w", o.bucket, err)
		}
		info := new(jetstream.ObjectInfo)
		if err := json.Unmarshal(msg.Data, info); err != nil || o.infoSubject(info.Name) != msg.Subject {
			continue // no object of ours
		}
		last[info.Name] = info
	}
	maps.DeleteFunc(last, func(_ string, info *jetstream.ObjectInfo) bool { return info.Deleted })
	return slices.Collect(maps.Values(last)), nil
}

// has reports whether the object is there with that many bytes.
func (o *objects) has(ctx context.Context, name string, size int64) (bool, error) {
	info, err := o.infoNow(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	return !info.Deleted && info.Size == uint64(size), nil
}

// whole reports whether the object is there with that many bytes and all its
// chunks. What is left of one that isn't is removed.
func (o *objects) whole(ctx context.Context, name string, size int64) (bool, error) {
	info, err := o.info(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	if info.Deleted || info.Size != uint64(size) || !ValidToken(info.NUID) {
		return false, nil
	}
	n, err := o.countChunks(ctx, info.NUID)
	if err != nil {
		return false, fmt.Errorf("queue: count chunks of %s: %w", name, err)
	}
	if n == uint64(info.Chunks) {
		return true, nil
	}
	return false, o.remove(ctx, name)
}

// countChunks reads the first chunk, with which the broker says how many come
// after it.
func (o *objects) countChunks(ctx context.Context, id string) (uint64, error) {
	r, err := newDirectReader(o.nc, o.stream(), o.chunkSubject(id))
	if err != nil {
		return 0, err
	}
	defer func() { _ = r.close() }()
	r.window = 1
	first, err := r.message(ctx)
	if errors.Is(err, io.EOF) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	pending := first.Header.Values("Nats-Num-Pending")
	if len(pending) == 0 {
		return 0, errors.New("the broker doesn't tell")
	}
	n, err := strconv.ParseUint(pending[len(pending)-1], 10, 63)
	return n + 1, err
}

// remove deletes an object; one that isn't there is no error. What tells that
// there was one stays for an hour.
func (o *objects) remove(ctx context.Context, name string) error {
	info, err := o.infoNow(ctx, name)
	switch {
	case errors.Is(err, jetstream.ErrObjectNotFound):
		return nil
	case err != nil:
		return err
	case !ValidToken(info.NUID):
		return fmt.Errorf("queue: delete object %s: bad chunk subject", name)
	}
	info.Deleted = true
	info.Size, info.Chunks, info.Digest = 0, 0, ""
	if err := o.putInfo(ctx, info, jetstream.WithMsgTTL(time.Hour)); err != nil {
		return err
	}
	if err := o.removeChunks(ctx, info.NUID); err != nil {
		return fmt.Errorf("queue: delete object %s: %w", name, err)
	}
	return nil
}

// removeChunks replaces all chunks by an empty one that lives for a second.
// Unlike a purge, that needs no right to remove anything else.
func (o *objects) removeChunks(ctx context.Context, id string) error {
	msg := nats.NewMsg(o.chunkSubject(id))
	msg.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	_, err := publish(ctx, o.js, msg, jetstream.WithMsgTTL(time.Second))
	return err
}

// openSized is open for an object of which only the length is known: its
// digest is that which was stored with it.
func (o *objects) openSized(ctx context.Context, name string, size int64) (io.ReadCloser, error) {
	ref := &Object{Name: name, Len: size}
	if info, err := o.info(ctx, name); err == nil { // else open says what is wrong
		sum, _ := base64.URLEncoding.DecodeString(strings.TrimPrefix(info.Digest, "SHA-256="))
		copy(ref.SHA256[:], sum)
	}
	return o.open(ctx, ref)
}

// open returns a reader of the object, which checks its length and digest:
// the error comes instead of io.EOF, so nothing of it is to be used before.
// Errors that are the object's fault are [*Failure].
func (o *objects) open(ctx context.Context, ref *Object) (io.ReadCloser, error) {
	info, err := o.infoNow(ctx, ref.Name)
	switch {
	case errors.Is(err, jetstream.ErrObjectNotFound):
		return nil, &Failure{Code: CodeWitnessMissing, Msg: fmt.Sprintf("object %s: not in bucket %s", ref.Name, o.bucket), Retry: true}
	case err != nil:
		return nil, err
	case info.Deleted:
		return nil, &Failure{Code: CodeWitnessMissing, Msg: fmt.Sprintf("object %s: deleted", ref.Name)}
	case info.Size != uint64(ref.Len):
		return nil, &Failure{Code: CodeWitnessDigest, Msg: fmt.Sprintf("object %s: found %d bytes, expected %d", ref.Name, info.Size, ref.Len)}
	case !ValidToken(info.NUID):
		return nil, &Failure{Code: CodeWitnessMissing, Msg: fmt.Sprintf("object %s: bad chunk subject", ref.Name)}
	}
	return newObjectReader(ctx, o, ref, o.chunkSubject(info.NUID))
}
