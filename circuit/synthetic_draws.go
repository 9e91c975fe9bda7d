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
	w element // of accumulate
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

// coefficient is the index of one.
func (d *draws) coefficient() uint32 {
	switch u := d.Uint64(); {
	case u&2 == 0:
		return 0
	case u&1 == 0:
		return 1
	default:
		return 2 + uint32(u>>32)%(dictionarySize-2)
	}
}

// wire is that of term k of a row whose constraint is that of wire own. Near wires differ between the terms of a row: what cancels
// there would leave points at infinity.
func (d *draws) wire(own uint32, k int) uint32 {
	const apart = 4
	u := d.Uint64()
	back := 1 + uint32(apart*k) + uint32(u>>8)%apart
	switch {
	case u%32 == 0:
		return 0
	case u%4 != 1 && back < own:
		return own - back
	}
	return uint32((u >> 32) * uint64(d.m.Rows) >> 32)
}

// wireOfB is one of the half of the wires that B has.
func (d *draws) wireOfB(own uint32, k int) uint32 {
	for {
		if wire := d.wire(own, k); wire == 0 || wire*0x9e3779b1>>31 == 0 {
			return wire
		}
	}
}

// nonzero is a wire with another value than 0: own if it has one, else one near by, or the constant one if these don't.
func (d *draws) nonzero(own uint32) uint32 {
	wire := own
	for k := range 8 {
		if d.m.value(wire) != (element{}) {
			return wire
		}
		wire = d.wire(own, k+1)
	}
	return 0
}

// accumulate adds a term's value: the Montgomery product of its coefficient, in that form, and a canonical value is canonical.
func (d *draws) accumulate(sum *element, wire, value uint32) {
	d.w = d.m.value(wire)
	if d.w == (element{}) {
		return
	}
	if value != 0 {
		d.m.f.mul(&d.w, &d.m.dictionary[value], &d.w)
	}
	d.m.f.add(sum, sum, &d.w)
}
