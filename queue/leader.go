package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// On a cluster a direct get is answered by any replica of the stream, and one
// may be behind. That does where what is old is found out by a compare and
// set, and where what is found never changes. Where nothing is found, or a
// compare and set has failed, only the stream's leader knows.

// newest reads the last message of a subject that the leader knows of.
// jetstream.ErrMsgNotFound if there is none. It takes the right to write to
// the subject.
func newest(ctx context.Context, js jetstream.JetStream, stream, subject string) (*jetstream.RawStreamMsg, error) {
	end := time.Now().Add(electionTime)
	for wait := behindPause; ; wait = min(2*wait, time.Second) {
		sequence, err := leaderSequence(ctx, js, subject)
		switch {
		case err != nil:
			return nil, err
		case sequence == 0:
			return nil, jetstream.ErrMsgNotFound
		}
		msg, err := lastMessage(ctx, js.Conn(), stream, subject)
		switch {
		case err == nil && msg.Sequence >= sequence:
			return msg, nil
		case err != nil && !errors.Is(err, jetstream.ErrMsgNotFound):
			return nil, err
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case time.Now().After(end):
			return nil, fmt.Errorf("stream %s: a replica has been behind for %s", stream, electionTime)
		}
		pause(ctx, wait)
	}
}

const behindPause = 20 * time.Millisecond

// leaderSequence asks the leader for the sequence of a subject's last message, 0
// if there is none: by a compare and set that can't succeed, since a request
// for the message itself would take the right to read the whole stream.
func leaderSequence(ctx context.Context, js jetstream.JetStream, subject string) (uint64, error) {
	const never = 1 << 53
	for wait := behindPause; ; wait = min(2*wait, time.Second) {
		_, err := publish(ctx, js, nats.NewMsg(subject), jetstream.WithExpectLastSequencePerSubject(never))
		api, ok := errors.AsType[*jetstream.APIError](err)
		switch {
		case ok && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence:
			_, found, _ := strings.Cut(api.Description, ": ")
			sequence, err := strconv.ParseUint(found, 10, 63)
			if err != nil {
				return 0, fmt.Errorf("the broker answers %.80q, expected the last sequence", api.Description)
			}
			return sequence, nil
		case ok && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant && ctx.Err() == nil:
			pause(ctx, wait) // a write is under way
		case err == nil:
			return 0, fmt.Errorf("the broker stored a message that it should have refused on %s", subject)
		default:
			return 0, err
		}
	}
}

// publish stores a message through JetStream. It must be harmless when the
// message comes twice, because the answer to the first may be lost.
func publish(ctx context.Context, js jetstream.JetStream, msg *nats.Msg, opts ...jetstream.PublishOpt) (ack *jetstream.PubAck, err error) {
	ctx, stop := Guard(ctx, js.Conn(), msg.Subject)
	defer stop()
	err = patiently(ctx, func(ctx context.Context) error {
		ack, err = js.PublishMsg(ctx, msg, opts...)
		return err
	})
	return ack, Refusal(ctx, err)
}

// electionTime is how long a question to the broker is repeated that nobody
// answers: a cluster that has lost a leader has another one in seconds.
const electionTime = 15 * time.Second

// patiently asks until there is an answer, whatever it is, or until ctx or
// electionTime ends.
func patiently(ctx context.Context, ask func(ctx context.Context) error) error {
	end := time.Now().Add(electionTime)
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		once, cancel := context.WithTimeout(ctx, requestTimeout)
		err := ask(once)
		cancel()
		if !unanswered(err) || ctx.Err() != nil || time.Now().After(end) {
			return err
		}
		pause(ctx, wait)
	}
}

// unanswered reports that the broker said nothing, or that it can't now.
func unanswered(err error) bool {
	for _, none := range []error{
		nats.ErrNoResponders, jetstream.ErrNoStreamResponse, nats.ErrTimeout, context.DeadlineExceeded, nats.ErrReconnectBufExceeded,
	} {
		if errors.Is(err, none) {
			return true
		}
	}
	const leaderless = 10008 // the stream or the cluster is, for the moment
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && api.ErrorCode == leaderless
}
