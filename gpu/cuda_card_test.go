package gpu

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/pinion-zk/pinion/groth16"
	"github.com/pinion-zk/pinion/pool"
)

// cardLibrary is the library that the tests of a card use: the software device, or that of PINION_CUDA_LIB.
func cardLibrary(t testing.TB) string {
	t.Helper()
	path := os.Getenv("PINION_CUDA_LIB")
	if path == "" {
		path = filepath.Join("..", "build", "libpinion_software.so")
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("no device to test with: make cuda-software builds one: ", err)
	}
	return path
}

// rig is a card with its executor, and pinned buffers.
type rig struct {
	*Executor
	t       *testing.T
	card    *Card
	budget  *pool.Budget
	buffers *pool.Pool
	used    int64 // bytes of the card while no key is loaded
}

// newRig opens card 0. At the end of the test it expects everything back, unless the card is lost by then.
func newRig(t *testing.T) *rig {
	t.Helper()
	card, err := OpenCUDA(cardLibrary(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, card: card, budget: pool.NewBudget(1 << 30), used: usedBy(t, card)}
	r.buffers = pool.NewPool(r.budget, card.Pinned(pool.HugePages{}))
	if r.Executor, err = NewExecutor(card, 4); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.close)
	return r
}

func (r *rig) close() {
	lost := r.Healthy() != nil
	if !lost {
		r.unused()
	}
	mustClose(r.t, r.Executor)
	if err := r.buffers.Close(); err != nil && !lost {
		r.t.Error(err)
	}
	if used := r.budget.Used(); used != 0 && !lost {
		r.t.Errorf("%d bytes of pinned memory are still there", used)
	}
}

// usedBy is what the card's handle has taken of its memory. Nothing else may use the card meanwhile.
func usedBy(t *testing.T, c *Card) int64 {
	t.Helper()
	about, err := c.describe()
	if err != nil {
		t.Fatal(err)
	}
	return about.used
}

// unused expects that all keys' memory is back.
func (r *rig) unused() {
	r.t.Helper()
	for key := range r.keys {
		if err := r.Unload(r.t.Context(), key); err != nil && r.t.Context().Err() == nil {
			r.t.Error(err)
		}
	}
	if used := usedBy(r.t, r.card); used != r.used && len(r.keys) == 0 {
		r.t.Errorf("%d bytes of the card are in use, want %d as at the start", used, r.used)
	}
}

func (r *rig) load(x *example) Key {
	r.t.Helper()
	key, err := r.Load(r.t.Context(), x.ProvingKey())
	if err != nil {
		r.t.Fatal(err)
	}
	return key
}

func (r *rig) unload(key Key) {
	r.t.Helper()
	if err := r.Unload(r.t.Context(), key); err != nil {
		r.t.Error(err)
	}
}

// buffer returns a copy of b in pinned memory.
func (r *rig) buffer(b []byte) *pool.Buffer {
	r.t.Helper()
	reserved, err := r.buffers.Reserve(r.t.Context(), 0, len(b))
	if err != nil {
		r.t.Fatal(err)
	}
	defer reserved.Close()
	buf, err := r.buffers.Get(reserved, len(b))
	if err != nil {
		r.t.Fatal(err)
	}
	copy(buf.Bytes(), b)
	return buf
}

// prove proves witnesses from pinned buffers, which it gives back as soon as they are uploaded: the pool clears them then.
func (r *rig) prove(key Key, witnesses ...[]byte) ([]*groth16.Proof, error) {
	r.t.Helper()
	task := &Task{Key: key}
	var held []*pool.Buffer
	for _, w := range witnesses {
		buf := r.buffer(w)
		held = append(held, buf)
		task.Inputs = append(task.Inputs, Input{Witness: buf.Bytes()})
	}
	ticket, err := r.Submit(r.t.Context(), task)
	if err == nil {
		<-ticket.Uploaded()
	}
	for _, buf := range held {
		buf.Release()
	}
	if err != nil {
		return nil, err
	}
	proofs, took, err := ticket.Result()
	for phase, time := range took.Phases() {
		if time < 0 {
			r.t.Errorf("%s took %s", phase, time)
		}
	}
	return proofs, err
}

// good expects that the card proves x, with a key of its own.
func (r *rig) good(x *example) {
	r.t.Helper()
	key := r.load(x)
	proofs, err := r.prove(key, x.witness)
	if err != nil {
		r.t.Error(err)
	}
	x.verify(r.t, proofs, 1)
	r.unload(key)
}

// product is the multiplier's witness 1, ab, a, b.
func product(a, b uint64) []byte {
	words := make([]byte, 4*groth16.ScalarSize)
	for i, v := range []uint64{1, a * b, a, b} {
		binary.LittleEndian.PutUint64(words[i*groth16.ScalarSize:], v)
	}
	return words
}

// verifyEach checks proofs of different witnesses.
func (x *example) verifyEach(t *testing.T, proofs []*groth16.Proof, witnesses [][]byte) {
	t.Helper()
	if len(proofs) != len(witnesses) {
		t.Fatalf("%d proofs, want %d", len(proofs), len(witnesses))
	}
	for i, p := range proofs {
		if p == nil {
			t.Errorf("proof %d is none", i)
		} else if err := x.VerifyingKey().Verify(p, groth16.PublicFromWitness(witnesses[i], x.ProvingKey().Public)); err != nil {
			t.Errorf("proof %d: %v", i, err)
		}
	}
}

// failure is a kind of failure that the software device has on demand.
type failure int32

const (
	failAllocation failure = iota + 1
	failPinnedAllocation
	failLaunch
	failCopy
	failSticky
	flipNTT
	flipMSM
)

func (f failure) String() string {
	names := []string{"allocation", "pinned allocation", "launch", "copy", "sticky", "flipped bit of a transform", "flipped bit of a sum"}
	return names[f-1]
}

// fail arms a failure of the n-th such event from now on; 0 disarms it. The device must be idle. It skips the test on a real card.
func (r *rig) fail(what failure, n uint64) {
	r.t.Helper()
	arm(r.t, r.card, what, n)
}

// count is how many such events there were since the failure was armed or disarmed.
func (r *rig) count(what failure) uint64 {
	r.t.Helper()
	return counted(r.t, r.card, what)
}

func arm(t *testing.T, c *Card, what failure, n uint64) {
	t.Helper()
	var fail func(device uintptr, what int32, n uint64, e *cError) int32
	bind(&fail, symbol(t, c, "pinion_software_fail"))
	var e cError
	if err := e.err(fail(c.handle, int32(what), n, &e)); err != nil {
		t.Fatal(err)
	}
}

func counted(t *testing.T, c *Card, what failure) (n uint64) {
	t.Helper()
	var count func(device uintptr, what int32, n *uint64, e *cError) int32
	bind(&count, symbol(t, c, "pinion_software_count"))
	var e cError
	if err := e.err(count(c.handle, int32(what), &n, &e)); err != nil {
		t.Fatal(err)
	}
	return n
}

// symbol is the address of a function of the card's library.
func symbol(t testing.TB, c *Card, name string) uintptr {
	t.Helper()
	handle, err := dlopen(c.lib.path)
	if err != nil {
		t.Fatal(err)
	}
	address, err := dlsym(handle, name)
	if err != nil {
		t.Skip("only the software device does that: ", err)
	}
	return address
}
