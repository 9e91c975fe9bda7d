package circuit

import (
	"math/bits"
	"math/rand/v2"
)

// Streams of random numbers, beside one for each block: what a block is of makes the difference.
const (
	witnessStream = iota << 56
	rowStream
	dictionaryStream
)

// draws are random numbers for a block.
type draws struct {
	rand.PCG
	m *synthesis
}

func (m *synthesis) draws(stream uint64, lo int) *draws {
	d := &draws{m: m}
	d.PCG.Seed(m.Seed, stream+uint64(lo/blockRows))
	return d
}

// full is uniform below the modulus.
func (d *draws) full() (x element) {
	top := ^uint64(0) >> bits.LeadingZeros64(d.m.f.modulus[3])
	for {
		x = element{d.Uint64(), d.Uint64(), d.Uint64(), d.Uint64() & top}
		if d.m.f.holds(&x) {
			return x
		}
	}
}

// value is that of a wire.
func (d *draws) value() element {
	const unit = 1.0 / (1 << 53)
	switch share := float64(d.Uint64()>>11) * unit; {
	case share < d.m.Zeros:
		return element{}
	case share < d.m.Zeros+d.m.Ones:
		return element{1}
	}
	return d.full()
}

// term is an entry of a row whose constraint makes wire own: its wire, and the index of its coefficient.
func (d *draws) term(own uint32) (wire, value uint32) {
	switch u := d.Uint64(); {
	case u&2 == 0:
		value = 0
	case u&1 == 0:
		value = 1
	default:
		value = 2 + uint32(u>>32)%(dictionarySize-2)
	}
	return d.wire(own), value
}

// reach is how far near wires are at most.
const reach = 64

func (d *draws) wire(own uint32) uint32 {
	u := d.Uint64()
	back := 1 + uint32(u>>8)%reach
	switch {
	case u%32 == 0:
		return 0
	case u%4 != 1 && back < own:
		return own - back
	}
	return uint32((u >> 32) * uint64(d.m.Rows) >> 32)
}

// wireOfB is one of the half of the wires that B has.
func (d *draws) wireOfB(own uint32) uint32 {
	for {
		if wire := d.wire(own); wire == 0 || wire*0x9e3779b1>>31 == 0 {
			return wire
		}
	}
}

// nonzero is a wire with another value than 0: own if it has one, else one near by, or the constant one if these don't.
func (d *draws) nonzero(own uint32) uint32 {
	for range 8 {
		if d.m.value(own) != (element{}) {
			return own
		}
		own = d.wire(own)
	}
	return 0
}
