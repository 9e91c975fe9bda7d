package gpu

import (
	"crypto/rand"
	"fmt"
	"math/big"
	"slices"
	"sync"
	"time"

	"github.com/pinion-zk/pinion/groth16"
)

// cardRun is a task on a card. One goroutine of its own waits for the card's events; all else is the executor's.
type cardRun struct {
	card           *Card
	key            *cardKey
	task           *Task // its buffers are reachable while the card reads them
	handle         uintptr
	uploaded, done signal
}

// Begin implements Device.
func (c *Card) Begin(t *Task) (Run, error) {
	k, ok := t.Key.(*cardKey)
	if !ok || k.card != c {
		return nil, fmt.Errorf("gpu: key of another device: %T", t.Key)
	}
	inputs, err := k.inputs(t)
	if err != nil {
		return nil, err
	}
	defer clear(inputs) // the blinding is secret
	r := &cardRun{card: c, key: k, task: t, uploaded: newSignal(), done: newSignal()}
	var e cError
	if err := e.err(c.lib.taskBegin(k.handle, &inputs[0], uint32(len(inputs)), &r.handle, &e)); err != nil {
		return nil, fmt.Errorf("begin on %s: %w", c.info.Name, err)
	}
	c.runs.Go(r.watch)
	return r, nil
}

// inputs are those of a task, with fresh blinding.
func (k *cardKey) inputs(t *Task) ([]cInput, error) {
	if len(t.Inputs) == 0 {
		return nil, fmt.Errorf("gpu: task without an input")
	}
	inputs := make([]cInput, len(t.Inputs))
	order := k.pk.Curve.ScalarModulus()
	for i, in := range t.Inputs {
		if err := k.checkInput(in); err != nil {
			return nil, &InputError{Input: i, Err: err}
		}
		inputs[i] = cInput{witness: address(in.Witness), a: address(in.A), b: address(in.B)}
		for _, scalar := range []*[32]byte{&inputs[i].r, &inputs[i].s} {
			if err := random(scalar, order); err != nil {
				return nil, fmt.Errorf("blinding: %w", err)
			}
		}
	}
	return inputs, nil
}

// checkInput compares lengths; the card looks at the values.
func (k *cardKey) checkInput(in Input) error {
	if len(in.Witness) != k.pk.Vars*groth16.ScalarSize {
		return fmt.Errorf("a witness of %d bytes, expected %d wires of %d bytes", len(in.Witness), k.pk.Vars, groth16.ScalarSize)
	}
	if (in.A == nil) != (in.B == nil) {
		return fmt.Errorf("one of a and b without the other")
	}
	for _, vector := range [][]byte{in.A, in.B} {
		if vector != nil && len(vector) != k.pk.Domain*groth16.ScalarSize {
			return fmt.Errorf("a vector of %d bytes, expected %d elements of %d bytes", len(vector), k.pk.Domain, groth16.ScalarSize)
		}
	}
	return nil
}

// random sets a little-endian scalar to a uniform value below order.
func random(scalar *[32]byte, order *big.Int) error {
	n, err := rand.Int(rand.Reader, order)
	if err != nil {
		return err
	}
	n.FillBytes(scalar[:])
	slices.Reverse(scalar[:])
	return nil
}

// watch waits for the card. A lost one ends the wait too, and reads no buffer any more; Result says so.
func (r *cardRun) watch() {
	var e cError
	_ = r.card.lib.taskWaitUploaded(r.handle, &e)
	r.uploaded.fire()
	_ = r.card.lib.taskWaitDone(r.handle, &e)
	r.done.fire()
}

// Uploaded implements Run.
func (r *cardRun) Uploaded() <-chan struct{} { return r.uploaded.fired }

// Done implements Run.
func (r *cardRun) Done() <-chan struct{} { return r.done.fired }

// Result implements Run.
func (r *cardRun) Result() ([]*groth16.Proof, Timings, error) {
	curve := r.key.pk.Curve
	size := 2*curve.G1Size() + curve.G2Size()
	points := make([]byte, size*len(r.task.Inputs))
	var t cTimings
	var e cError
	if err := e.err(r.card.lib.taskFinish(r.handle, &points[0], uint64(len(points)), &t, &e)); err != nil {
		return nil, Timings{}, fmt.Errorf("prove on %s: %w", r.card.info.Name, err)
	}
	return proofs(curve, points, size), t.timings(), nil
}

// proofs decodes a task's proofs. One that the card got so wrong that its points are none is nil.
func proofs(curve groth16.Curve, points []byte, size int) []*groth16.Proof {
	list := make([]*groth16.Proof, len(points)/size)
	var decoding sync.WaitGroup
	for i := range list {
		decoding.Go(func() {
			if p, err := groth16.NewProof(curve, points[i*size:(i+1)*size]); err == nil {
				list[i] = p
			}
		})
	}
	decoding.Wait()
	return list
}

func (t *cTimings) timings() Timings {
	duration := func(milliseconds ...float32) (d time.Duration) {
		for _, ms := range milliseconds {
			d += time.Duration(float64(ms) * float64(time.Millisecond))
		}
		return d
	}
	return Timings{
		Upload:     duration(t.upload),
		Overlapped: duration(t.overlapped),
		Synthesis:  duration(t.synthesis),
		NTT:        duration(t.ntt),
		MSM:        duration(t.sort, t.a, t.b1, t.b2, t.c, t.h),
		Finish:     duration(t.finish),
		Total:      duration(t.total),
		Sort:       duration(t.sort),
		A:          duration(t.a),
		B1:         duration(t.b1),
		B2:         duration(t.b2),
		C:          duration(t.c),
		H:          duration(t.h),
	}
}
