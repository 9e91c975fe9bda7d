package queue

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Sizes of transfers. Memory in flight is a window of chunks on either side.
const (
	chunkBytes   = 512 << 10
	uploadWindow = 64 // chunks that may wait for the broker's answer
	readWindow   = 16 // chunks asked for at once
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
	meta   jetstream.ObjectStore
	stream jetstream.Stream
}

func bindObjects(ctx context.Context, nc *nats.Conn, js jetstream.JetStream, bucket string) (*objects, error) {
	meta, err := js.ObjectStore(ctx, bucket)
	if err != nil {
		return nil, err
	}
	stream, err := js.Stream(ctx, "OBJ_"+bucket)
	if err != nil {
		return nil, err
	}
	return &objects{nc: nc, js: js, bucket: bucket, meta: meta, stream: stream}, nil
}

func (o *objects) chunkSubject(id string) string { return "$O." + o.bucket + ".C." + id }

// has reports whether the object is there with that many bytes.
func (o *objects) has(ctx context.Context, name string, size int64) (bool, error) {
	info, err := o.meta.GetInfo(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("queue: look up object %s: %w", name, err)
	}
	return info.Size == uint64(size), nil
}

// remove deletes an object; one that isn't there is no error.
func (o *objects) remove(ctx context.Context, name string) error {
	err := o.meta.Delete(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) || err == nil {
		return nil
	}
	return fmt.Errorf("queue: delete object %s: %w", name, err)
}

// open returns a reader of the object, which checks its length and digest:
// the error comes instead of io.EOF, so nothing of it is to be used before.
// Errors that are the object's fault are [*Failure].
func (o *objects) open(ctx context.Context, ref *Object) (io.ReadCloser, error) {
	info, err := o.meta.GetInfo(ctx, ref.Name, jetstream.GetObjectInfoShowDeleted())
	switch {
	case errors.Is(err, jetstream.ErrObjectNotFound):
		// On a cluster, the replica that was asked may be behind.
		return nil, &Failure{Code: CodeWitnessMissing, Msg: fmt.Sprintf("object %s: not in bucket %s", ref.Name, o.bucket), Retry: true}
	case err != nil:
		return nil, fmt.Errorf("queue: look up object %s: %w", ref.Name, err)
	case info.Deleted:
		return nil, &Failure{Code: CodeWitnessMissing, Msg: fmt.Sprintf("object %s: deleted", ref.Name)}
	case info.Size != uint64(ref.Len):
		return nil, &Failure{Code: CodeWitnessDigest, Msg: fmt.Sprintf("object %s: found %d bytes, expected %d", ref.Name, info.Size, ref.Len)}
	case !ValidToken(info.NUID):
		return nil, &Failure{Code: CodeWitnessMissing, Msg: fmt.Sprintf("object %s: bad chunk subject", ref.Name)}
	}
	return newObjectReader(ctx, o, ref, o.chunkSubject(info.NUID))
}
