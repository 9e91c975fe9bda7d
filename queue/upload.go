package queue

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// put stores what r holds, which must have the digest, under the name. progress is told the bytes that
// the broker has answered for. On error the chunks are removed again, as far
// as the broker can be reached.
func (o *objects) put(ctx context.Context, name string, digest [32]byte, r io.Reader, progress func(stored int64)) (err error) {
	u := &upload{o: o, id: nuid.Next(), progress: progress}
	defer func() {
		if err != nil {
			u.abandon()
		}
	}()
	sum := sha256.New()
	if err := u.chunks(ctx, io.TeeReader(r, sum)); err != nil {
		return fmt.Errorf("queue: upload object %s: %w", name, err)
	}
	if got := [32]byte(sum.Sum(nil)); got != digest {
		return fmt.Errorf("queue: upload object %s: it changed since its digest was taken", name)
	}
	return o.putInfo(ctx, &jetstream.ObjectInfo{
		ObjectMeta: jetstream.ObjectMeta{Name: name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunkBytes}},
		Bucket:     o.bucket,
		NUID:       u.id,
		Size:       uint64(u.stored),
		Chunks:     u.count,
		Digest:     "SHA-256=" + base64.URLEncoding.EncodeToString(digest[:]),
	})
}

// putInfo makes an object visible.
func (o *objects) putInfo(ctx context.Context, info *jetstream.ObjectInfo, opts ...jetstream.PublishOpt) error {
	data, err := json.Marshal(info)
	if err != nil {
		return fmt.Errorf("queue: object %s: %w", info.Name, err)
	}
	msg := nats.NewMsg(o.infoSubject(info.Name))
	msg.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	msg.Data = data
	if _, err := publish(ctx, o.js, msg, opts...); err != nil {
		return fmt.Errorf("queue: store object %s: %w", info.Name, err)
	}
	return nil
}

// upload is the state of one put: a ring of chunks in flight, the oldest
// first.
type upload struct {
	o        *objects
	id       string
	progress func(int64)
	flight   []chunk
	free     [][]byte
	stored   int64
	count    uint32
}

type chunk struct {
	buf []byte
	n   int
	ack jetstream.PubAckFuture
}

func (u *upload) chunks(ctx context.Context, r io.Reader) error {
	ctx, stop := Guard(ctx, u.o.nc, u.o.chunkSubject(u.id))
	defer stop()
	for {
		if len(u.flight) == uploadWindow {
			if err := u.settle(ctx); err != nil {
				return err
			}
		}
		buf := u.buffer()
		n, err := io.ReadFull(r, buf)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return err
		}
		if n > 0 {
			// Without the library's retries: they would store it behind the next.
			ack, err := u.o.js.PublishMsgAsync(&nats.Msg{Subject: u.o.chunkSubject(u.id), Data: buf[:n]}, jetstream.WithRetryAttempts(0))
			if err != nil {
				return err
			}
			u.flight = append(u.flight, chunk{buf, n, ack})
			u.count++
		}
		if err != nil {
			break // the end
		}
	}
	for len(u.flight) > 0 {
		if err := u.settle(ctx); err != nil {
			return err
		}
	}
	return nil
}

// settle waits for the oldest chunk's answer.
func (u *upload) settle(ctx context.Context) error {
	c := u.flight[0]
	u.flight = u.flight[1:]
	timeout := time.NewTimer(uploadTimeout)
	defer timeout.Stop()
	select {
	case <-c.ack.Ok():
	case err := <-c.ack.Err():
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timeout.C:
		return fmt.Errorf("the broker didn't answer for a chunk within %s: %w", uploadTimeout, nats.ErrTimeout)
	}
	u.free = append(u.free, c.buf)
	u.stored += int64(c.n)
	if u.progress != nil {
		u.progress(u.stored)
	}
	return nil
}

// uploadTimeout is how long the oldest chunk waits for its answer, once those
// before it have theirs. A leader that steps down may leave without one.
const uploadTimeout = 10 * time.Second

func (u *upload) buffer() []byte {
	if n := len(u.free); n > 0 {
		buf := u.free[n-1]
		u.free = u.free[:n-1]
		return buf
	}
	return make([]byte, chunkBytes)
}

// abandon removes the chunks of an upload that failed, once those in flight
// have arrived: the broker may purge before it stores them. What it can't
// remove the bucket's age does.
func (u *upload) abandon() {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	for _, c := range u.flight {
		select {
		case <-c.ack.Ok():
		case <-c.ack.Err(): //nolint:errcheck // stored or not, it has arrived
		case <-ctx.Done():
			return
		}
	}
	_ = u.o.removeChunks(ctx, u.id)
}
