package queue

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// What exceeds a limit is refused by the producer that would submit it and by the worker that gets it from another,
// and what just fits is taken by both.
func TestLimits(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	meta := func(pairs, key, value int) func(*Request) {
		return func(r *Request) {
			r.Meta = map[string]string{strings.Repeat("k", key): strings.Repeat("v", value)}
			for i := 1; i < pairs; i++ {
				r.Meta[fmt.Sprint(i)] = ""
			}
		}
	}
	witnesses := func(n int) func(*Request) {
		return func(r *Request) {
			r.Witnesses = nil
			for range n {
				r.Witnesses = append(r.Witnesses, Wtns([]byte("w")))
			}
		}
	}
	reply := func(n int) func(*Request) {
		return func(r *Request) { r.Reply = "pinion.reply." + strings.Repeat("r", n-len("pinion.reply.")) }
	}
	for i, tt := range []struct {
		what      string
		fits, not func(*Request)
		want      string
	}{
		{"witnesses", witnesses(MaxWitnesses), witnesses(MaxWitnesses + 1), "proofs: found 65 elements, expected "},
		{"meta", meta(MaxMeta, 1, 1), meta(MaxMeta+1, 1, 1), "meta"},
		{"key of meta", meta(1, MaxMetaKey, 1), meta(1, MaxMetaKey+1, 1), "meta: found a key of 65 and a value of 1 bytes, expected 1 to 64 and at most 256"},
		{"value of meta", meta(1, 1, MaxMetaValue), meta(1, 1, MaxMetaValue+1), "meta"},
		{"reply", reply(MaxReply), reply(MaxReply + 1), "reply: found "},
		{"id", func(r *Request) { r.ID = strings.Repeat("i", 64) }, func(r *Request) { r.ID = strings.Repeat("i", 65) }, "id: found "},
	} {
		fits, not := request(fmt.Sprint("fits-", i)), request(fmt.Sprint("not-", i))
		tt.fits(&fits)
		tt.not(&not)
		b.submit(c, fits)
		const malformed = "queue: malformed job: "
		if _, err := c.Submit(ctx(t), not); !errors.Is(err, ErrMalformed) || !strings.HasPrefix(err.Error(), malformed+tt.want) {
			t.Errorf("%s: submitted: %v", tt.what, err)
		}
		if _, err := DecodeJob(bodyOf(&not)); !errors.Is(err, ErrMalformed) || !strings.HasPrefix(err.Error(), malformed+tt.want) {
			t.Errorf("%s: decoded: %v", tt.what, err)
		}
		if _, err := DecodeJob(bodyOf(&fits)); err != nil {
			t.Errorf("%s: what fits: %v", tt.what, err)
		}
	}

	// The broker holds the size of a message too, whoever publishes it.
	large := nats.NewMsg(JobSubject(High, "merkle", "large"))
	large.Data = make([]byte, MaxJobBytes+1)
	if _, err := c.js.PublishMsg(ctx(t), large); !errors.Is(err, jetstream.ErrStreamMessageExceedsMaximum) {
		t.Errorf("job of %d bytes: %v", len(large.Data), err)
	}
}

// bodyOf is what a producer that checks nothing would publish.
func bodyOf(r *Request) []byte {
	job := &Job{ID: r.ID, Circuit: r.Circuit, Reply: r.Reply, Meta: r.Meta}
	for range r.Witnesses {
		job.Witnesses = append(job.Witnesses, Witness{Wtns: []byte("w")})
	}
	return EncodeJob(job)
}
