package queue

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// Delivery is a job in a worker's hand. One that no worker made (in a test of
// a [Handler]) has no objects to open, and its progress goes nowhere.
type Delivery struct {
	Job      *Job
	Priority Priority
	Attempt  int // from 1

	task *task
}

// Open returns a reader of the i-th witness, a .wtns file of
// Job.Witnesses[i].Size() bytes, which lies in the message or the object
// bucket. An object's length and digest are checked: what is wrong comes
// instead of io.EOF, so nothing of it may be used before. That error, when
// the object is at fault, is a [*Failure] for Prove to return.
//
// It is an error to open a witness that is given as inputs.
func (d *Delivery) Open(ctx context.Context, i int) (io.ReadCloser, error) {
	switch w := d.Job.Witnesses[i]; {
	case w.Object != nil && d.task != nil:
		r, err := d.task.w.witness.open(ctx, w.Object)
		if err != nil {
			return nil, err
		}
		return &timedReader{ReadCloser: r, t: d.task}, nil
	case w.Wtns != nil:
		return io.NopCloser(bytes.NewReader(w.Wtns)), nil
	}
	return nil, fmt.Errorf("queue: proof %d of job %s has no witness to open", i, d.Job.ID)
}

// timedReader adds what reading takes to the job's fetch time.
type timedReader struct {
	io.ReadCloser
	t *task
}

func (r *timedReader) Read(p []byte) (int, error) {
	start := time.Now()
	n, err := r.ReadCloser.Read(p)
	r.t.mu.Lock()
	r.t.fetchTime += time.Since(start)
	r.t.mu.Unlock()
	return n, err
}

// Progress reports that a phase begins or how far it is; it doesn't block.
// From the first report of [PhaseDevice] on the job counts as having reached
// the device: a worker that shuts down no longer hands it on.
func (d *Delivery) Progress(phase string, percent int) {
	if d.task != nil {
		d.task.report(phase, percent)
	}
}

func (t *task) report(phase string, percent int) {
	percent = min(max(percent, 0), 100)
	t.mu.Lock()
	t.phase, t.percent = phase, percent
	t.onDevice = t.onDevice || phase == PhaseDevice
	t.mu.Unlock()
	t.announce(&Progress{
		ID: t.id, State: Running, Phase: phase, Attempt: t.attempt,
		Worker: t.w.cfg.Name, At: time.Now(), Percent: percent,
	}, false)
}

// announce sends a progress event, best effort.
func (t *task) announce(p *Progress, final bool) {
	body := EncodeProgress(p)
	msg := nats.NewMsg(ProgressSubject(t.id))
	msg.Header.Set("Content-Type", ContentProgress)
	msg.Data = body
	if err := t.w.nc.PublishMsg(msg); err != nil {
		t.log.Warn("progress not published", "error", err)
	}
	if !final { // the reply subject gets the result itself
		t.send(KindProgress, false, ContentProgress, body)
	}
}

// send publishes to the reply subject, if there is one.
func (t *task) send(kind Kind, final bool, content string, body []byte) {
	if t.reply == "" {
		return
	}
	msg := nats.NewMsg(t.reply)
	msg.Header.Set(HeaderKind, string(kind))
	msg.Header.Set(HeaderJob, t.id)
	msg.Header.Set(HeaderAttempt, strconv.Itoa(t.attempt))
	msg.Header.Set(HeaderFinal, strconv.FormatBool(final))
	msg.Header.Set("Content-Type", content)
	msg.Data = body
	if err := t.w.nc.PublishMsg(msg); err != nil {
		t.log.Warn("reply not sent", "kind", kind, "error", err)
	}
}

func (t *task) progress() (phase string, percent int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.phase, t.percent
}

func (t *task) reachedDevice() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.onDevice
}
