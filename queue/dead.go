package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// originPrefix keeps a job's Nats- headers on its dead letter, where under
// their own names they would be instructions to the broker.
const originPrefix = "Pinion-Origin-"

// deadLetter stores the whole job, headers included, with why it failed and
// what became of its attempts, under the id. Of a repetition within the
// stream's duplicate window one is kept.
func (t *task) deadLetter(ctx context.Context, id string, f *Failure, st *Status) error {
	msg := nats.NewMsg(DeadSubject(id))
	for key, values := range t.msg.Headers() {
		if strings.HasPrefix(strings.ToLower(key), "nats-") {
			key = originPrefix + key
		}
		msg.Header[key] = values
	}
	msg.Header.Set(HeaderSubject, t.msg.Subject())
	msg.Header.Set(HeaderJob, id)
	msg.Header.Set(HeaderCode, string(f.Code))
	msg.Header.Set(HeaderError, truncate(f.Msg, 2000))
	msg.Header.Set(HeaderAttempt, strconv.Itoa(t.attempt))
	msg.Header.Set(HeaderWorker, t.w.cfg.Name)
	msg.Header.Del(HeaderHistory)
	if st != nil && len(st.History) > 0 {
		history, err := json.Marshal(st.History)
		if err != nil {
			return fmt.Errorf("queue: dead letter of %s: %w", id, err)
		}
		msg.Header.Set(HeaderHistory, string(history))
	}
	msg.Data = t.msg.Data()
	msgID := fmt.Sprintf("%s.%x.%d", id, t.digest[:16], t.attempt)
	if _, err := publish(ctx, t.w.js, msg, jetstream.WithMsgID(msgID), jetstream.WithExpectStream(StreamDead)); err != nil {
		return fmt.Errorf("queue: dead letter of %s: %w", id, err)
	}
	return nil
}
