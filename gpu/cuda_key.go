package gpu

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/pinion-zk/pinion/groth16"
)

// cardKey is a key in the memory of a card.
type cardKey struct {
	card   *Card
	pk     *groth16.ProvingKey // its numbers: the rest is on the card
	handle uintptr
	bytes  int64
}

// Load implements Device. Each part of the key is checked just before it is copied.
func (c *Card) Load(pk *groth16.ProvingKey) (Key, error) {
	footprint, err := c.Footprint(pk)
	if err != nil {
		return nil, err
	}
	about, err := c.describe()
	if err != nil {
		return nil, err
	}
	if footprint.Key > about.free {
		return nil, &MemoryError{Device: c.info.Name, Want: footprint.Key, Free: about.free}
	}
	if err := pk.Check(); err != nil {
		return nil, fmt.Errorf("proving key: %w", err)
	}
	k := &cardKey{card: c, pk: pk, bytes: footprint.Key}
	reading := readSections(pk)
	defer reading.end()
	key := keyOf(pk)
	key.touch, key.context = touchCallback(), reading.context
	var e cError
	err = e.err(c.lib.circuitLoad(c.handle, key, &k.handle, &e))
	runtime.KeepAlive(pk)
	if reading.err != nil {
		return nil, reading.err
	}
	if err != nil {
		return nil, fmt.Errorf("load a circuit on %s: %w", c.info.Name, err)
	}
	return k, nil
}

// Bytes implements Key.
func (k *cardKey) Bytes() int64 { return k.bytes }

// Unload implements Key.
func (k *cardKey) Unload() error {
	var e cError
	if err := e.err(k.card.lib.circuitUnload(k.handle, &e)); err != nil {
		return fmt.Errorf("unload a circuit from %s: %w", k.card.info.Name, err)
	}
	return nil
}

// keySizes has the numbers of a key, and none of its parts.
func keySizes(pk *groth16.ProvingKey) *cKey {
	k := &cKey{
		curve:        uint32(pk.Curve), // numbered alike
		quotient:     uint32(pk.Quotient),
		vars:         uint64(pk.Vars),
		publicWires:  uint64(pk.Public),
		domain:       uint64(pk.Domain),
		rows:         uint64(pk.Rows),
		coefficients: uint64(pk.Coefficients.Len() / groth16.ScalarSize),
	}
	if pk.Exponents {
		k.exponents = 1
	}
	k.a.entries = uint64(pk.A.Columns.Len() / 4)
	k.b.entries = uint64(pk.B.Columns.Len() / 4)
	return k
}

// keyOf points to the parts of a key, whose sections aren't checked yet.
func keyOf(pk *groth16.ProvingKey) *cKey {
	k := keySizes(pk)
	k.alpha1, k.beta1, k.delta1 = address(pk.Alpha1), address(pk.Beta1), address(pk.Delta1)
	k.beta2, k.delta2 = address(pk.Beta2), address(pk.Delta2)
	section := func(s groth16.Section) unsafe.Pointer { return address(s.Unchecked()) }
	k.pointsA, k.pointsB1, k.pointsB2 = section(pk.PointsA), section(pk.PointsB1), section(pk.PointsB2)
	k.pointsC, k.pointsH = section(pk.PointsC), section(pk.PointsH)
	k.a.starts, k.a.columns, k.a.values = section(pk.A.Starts), section(pk.A.Columns), section(pk.A.Values)
	k.b.starts, k.b.columns, k.b.values = section(pk.B.Starts), section(pk.B.Columns), section(pk.B.Values)
	k.coefficient = section(pk.Coefficients)
	return k
}

// address is where b lies; nil if it is empty.
func address(b []byte) unsafe.Pointer {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Pointer(unsafe.SliceData(b))
}

// reading is a load in progress: the sections that the library may ask to have checked.
type reading struct {
	context  uintptr // the name that the library knows it by
	sections []groth16.Section
	err      error // of the section that failed its check
}

var (
	readings     sync.Map // by context
	readingCount atomic.Uintptr
	// touchCallback is made once: the process has room for few callbacks, and they stay.
	touchCallback = sync.OnceValue(func() uintptr { return callback(touch) })
)

func readSections(pk *groth16.ProvingKey) *reading {
	r := &reading{context: readingCount.Add(1), sections: []groth16.Section{
		pk.PointsA, pk.PointsB1, pk.PointsB2, pk.PointsC, pk.PointsH,
		pk.A.Starts, pk.A.Columns, pk.A.Values, pk.B.Starts, pk.B.Columns, pk.B.Values, pk.Coefficients,
	}}
	readings.Store(r.context, r)
	return r
}

func (r *reading) end() { readings.Delete(r.context) }

// touch is pinion_key.touch: the library is about to read size bytes at data. It returns 0 if they are in order.
func touch(context, data, size uintptr) uintptr {
	r, found := readings.Load(context)
	if !found {
		return 1
	}
	if reading := r.(*reading); reading.err == nil { // what comes after the first failure isn't loaded either
		reading.err = guard(func() error { return reading.check(data, size) })
		if reading.err == nil {
			return 0
		}
	}
	return 1
}

func (r *reading) check(data, size uintptr) error {
	for _, s := range r.sections {
		start := uintptr(address(s.Unchecked()))
		if start == 0 || data < start || data-start > uintptr(s.Len()) || size > uintptr(s.Len())-(data-start) {
			continue
		}
		lo := int(data - start)
		_, err := s.Range(lo, lo+int(size))
		return err
	}
	return fmt.Errorf("the CUDA library reads %d bytes that are in no section of the key", size)
}
