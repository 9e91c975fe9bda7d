package engine

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/pinion-zk/pinion/circuit"
)

// decode makes the words of a witness, straight into the buffer that the device reads.
func (j *Job) decode(ctx context.Context, witness int, words []byte) error {
	w := j.request.Witnesses[witness]
	var err error
	if w.Inputs != nil {
		err = j.calculate(ctx, w.Inputs, words)
	} else {
		err = j.read(ctx, w, words)
	}
	if err == nil {
		return nil
	}
	if stop := interrupted(ctx); stop != nil {
		return stop
	}
	return witnessError(witness, err)
}

func (j *Job) calculate(ctx context.Context, inputs, words []byte) error {
	calculator, err := j.lease.resident.circuit.Calculator(ctx)
	if err != nil {
		return err
	}
	limit := j.engine.config.CalculatorTime
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no witness after %s, which is the limit", limit))
	defer cancel()
	err = calculator.Calculate(ctx, inputs, words)
	var input *circuit.InputError
	var assert *circuit.AssertError
	switch {
	case err == nil, errors.As(err, &input), errors.As(err, &assert):
		return err
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	return fail(CodeCalculator, false, err)
}

// read takes the stream to its very end, where a source that knows the digest compares it.
func (j *Job) read(ctx context.Context, w Witness, words []byte) error {
	stream, err := w.Open(ctx)
	if err != nil {
		return fail(CodeInternal, true, err)
	}
	source := &source{ctx: ctx, stream: stream}
	err = circuit.DecodeWtns(words, source, w.Size, j.info.Shape())
	if source.err != nil {
		err = fail(CodeInternal, true, source.err)
	}
	return errors.Join(err, stream.Close())
}

// A source is a stream that ends with its context. It remembers the stream's own error, which isn't the witness's fault.
type source struct {
	ctx    context.Context
	stream io.Reader
	err    error
}

func (s *source) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.stream.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// witnessError says what an error of making a witness means to the job.
func witnessError(witness int, err error) error {
	var format *circuit.FormatError
	var input *circuit.InputError
	var assert *circuit.AssertError
	code, retry := CodeInternal, true
	switch {
	case errors.As(err, &format):
		code, retry = CodeInvalidWitness, false
	case errors.As(err, &input):
		code, retry = CodeInvalidInputs, false
	case errors.As(err, &assert):
		code, retry = CodeUnsatisfied, false
	case errors.Is(err, circuit.ErrNoCalculator), errors.Is(err, circuit.ErrNotCalculator):
		code, retry = CodeCalculator, false
	}
	return within(fmt.Sprintf("witness %d", witness), code, retry, err)
}
