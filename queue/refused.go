package queue

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// RefusedError says that the broker doesn't let this user publish, or
// subscribe, to a subject. errors.Is(err, nats.ErrPermissionViolation) holds.
type RefusedError struct {
	Op      string // "publish" or "subscribe"
	Subject string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the broker refused: this user may not %s to %s", e.Op, e.Subject)
}

// Unwrap makes errors.Is(err, nats.ErrPermissionViolation) hold.
func (*RefusedError) Unwrap() error { return nats.ErrPermissionViolation }

// IsInbox reports that nc may not subscribe to where it expects all answers:
// its inbox prefix isn't that of the user.
func (e *RefusedError) IsInbox(nc *nats.Conn) bool {
	return e.Op == "subscribe" && strings.HasPrefix(e.Subject, orElse(nc.Opts.InboxPrefix, "_INBOX")+".")
}

// Guard returns a context that ends with a [*RefusedError] as its cause if the
// broker refuses one of the subjects to nc, which [ConnectOptions] made: it
// says so later, on the connection, and the call that was meant would only
// time out. A subject that ends with '.' stands for all that begin with it.
// Call it before the call that it guards; stop ends the guard, not the
// context's use.
func Guard(ctx context.Context, nc *nats.Conn, subjects ...string) (guarded context.Context, stop func()) {
	guarded, cancel := context.WithCancelCause(ctx)
	g := &guard{subjects: subjects, cancel: cancel}
	guards.add(nc, g)
	return guarded, func() {
		guards.remove(nc, g)
		cancel(nil)
	}
}

// Refusal returns the broker's refusal that ended a guarded context, or else
// err.
func Refusal(guarded context.Context, err error) error {
	if refused, ok := errors.AsType[*RefusedError](context.Cause(guarded)); ok {
		return refused
	}
	return err
}

// guard is a call in flight.
type guard struct {
	subjects []string
	cancel   context.CancelCauseFunc
}

// guards are the calls in flight on each connection.
var guards guardList

type guardList struct {
	mu sync.Mutex
	of map[*nats.Conn]map[*guard]struct{}
}

func (l *guardList) add(nc *nats.Conn, g *guard) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = make(map[*nats.Conn]map[*guard]struct{})
	}
	if l.of[nc] == nil {
		l.of[nc] = make(map[*guard]struct{})
	}
	l.of[nc][g] = struct{}{}
}

func (l *guardList) remove(nc *nats.Conn, g *guard) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of[nc], g)
	if len(l.of[nc]) == 0 {
		delete(l.of, nc)
	}
}

// refuse ends the calls that a refusal is about, and reports whether there
// were any.
func (l *guardList) refuse(nc *nats.Conn, refused *RefusedError) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := false
	for g := range l.of[nc] {
		if refused.IsInbox(nc) || g.about(refused.Subject) {
			g.cancel(refused)
			found = true
		}
	}
	return found
}

func (g *guard) about(subject string) bool {
	return slices.ContainsFunc(g.subjects, func(s string) bool {
		return s == subject || strings.HasSuffix(s, ".") && strings.HasPrefix(subject, s)
	})
}

var violation = regexp.MustCompile(`Permissions Violation for (Publish|Subscription) to "([^"]*)"`)

// asRefused reads what the client library has of a violation: a text.
func asRefused(err error) (*RefusedError, bool) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return nil, false
	}
	m := violation.FindStringSubmatch(err.Error())
	switch {
	case m == nil:
		return nil, false
	case m[1] == "Publish":
		return &RefusedError{Op: "publish", Subject: m[2]}, true
	}
	return &RefusedError{Op: "subscribe", Subject: m[2]}, true
}
