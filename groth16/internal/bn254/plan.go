package bn254

import (
	"math"
	"math/bits"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
)

// lists are lists of terms, one after the other: list i is terms[starts[i]:starts[i+1]].
// A term is the index of a point times two, plus one if the point is to be subtracted.
type lists struct{ terms, starts []uint32 }

func (l lists) len() int            { return len(l.starts) - 1 }
func (l lists) list(i int) []uint32 { return l.terms[l.starts[i]:l.starts[i+1]] }

// blockFor is the size of blocks for sums of up to n points, limited: small sums don't earn what it takes to touch large ones first.
func blockFor(n, limit int) int { return min(max(1<<bits.Len(uint(n-1)), 1024), limit) }

// ahead is how many terms' points are fetched from memory at a time.
const ahead = 256

// run is a part of a block of points: those to be added up into one entry of the output, which is its target.
type run struct{ target, length int32 }

// plan says which points go into which bucket in each window of a multi-scalar multiplication (Pippenger's algorithm with signed
// digits, see section 4 of https://eprint.iacr.org/2012/549.pdf). Sums that share their scalars share the plan.
//
// A scalar v above r/2 is taken as -(r-v), so that small negative numbers are as cheap as small positive ones. Zero takes no part,
// and a number that fits into the first window takes part in that window only.
type plan struct {
	width   int          // of a window in bits
	scalars []fr.Element // recoded, see recode
	live    []uint32     // indices of the scalars that aren't zero
	wide    []uint32     // those of them that have more than one digit
	windows []window
	ends    []int  // of each window's terms
	tasks   []span // of windows that are summed up at once
	grid    grid

	terms, starts []uint32 // memory for the windows' lists
}

// window has the points of each bucket, sorted when they are first asked for.
type window struct {
	once    sync.Once
	buckets lists // before they are sorted, memory for them
}

// span are the numbers from lo to below hi.
type span struct{ lo, hi int }

func (s span) len() int { return s.hi - s.lo }

// taskSize is how many additions make a task worth while: fewer, and the inversions that an adder needs for each block would
// tell.
const taskSize = 8192

const (
	maxWidth  = 16
	maxLines  = 1 << (maxWidth/2 + 1)   // rows and columns of a grid
	gridBytes = 4 * (1 << maxWidth) * 2 // of the widest
	signBit   = 1 << 63                 // of the last limb of a recoded scalar
)

// make plans for scalars, canonical and below r, of which it keeps a copy. It reuses the memory of p.
func (p *plan) make(scalars []fr.Element) {
	p.scalars = reuse(p.scalars, len(scalars))
	copy(p.scalars, scalars)
	var count lengths
	for i := range p.scalars {
		count.add(halve(&p.scalars[i]))
	}
	count.accumulate()
	width := count.width()
	if width != p.width {
		p.width, p.grid = width, newGrid(width)
	}
	p.recode()
	p.divide(&count)
}

// divide makes the windows that have a digit at all, with memory for their lists, and divides them into tasks.
func (p *plan) divide(count *lengths) {
	p.ends, p.tasks = p.ends[:0], p.tasks[:0]
	total, size := 0, taskSize
	for w := range windowCount(p.width) {
		reach := count.reach(w * p.width)
		if reach == 0 {
			break // nor has any window above
		}
		total += reach
		p.ends = append(p.ends, total)
		if size >= taskSize {
			p.tasks = append(p.tasks, span{w, w})
			size = 0
		}
		p.tasks[len(p.tasks)-1].hi++
		size += reach + perBucket*p.grid.buckets
	}
	p.windows = make([]window, len(p.ends))
	p.terms = reuse(p.terms, total)
	p.starts = reuse(p.starts, len(p.windows)*p.startCount())
	from := 0
	for w, end := range p.ends {
		starts := p.starts[w*p.startCount() : (w+1)*p.startCount()]
		p.windows[w].buckets = lists{p.terms[from:end], starts}
		from = end
	}
}

// startCount is the number of starts of a window's lists, and one more for the zeros, which sort needs.
func (p *plan) startCount() int { return p.grid.buckets + 2 }

// reuse returns a slice of length n, of the memory of s where that is enough.
func reuse[T any](s []T, n int) []T {
	if cap(s) >= n {
		return s[:n]
	}
	return make([]T, n)
}

// halve replaces v by r-v with the sign bit set if that is smaller, and returns the length in bits.
func halve(v *fr.Element) int {
	if v[fr.Limbs-1] > scalarModulus[fr.Limbs-1]>>1 {
		var borrow uint64
		for i := range v {
			v[i], borrow = bits.Sub64(scalarModulus[i], v[i], borrow)
		}
		length := bitLen(v)
		v[fr.Limbs-1] |= signBit
		return length
	}
	return bitLen(v)
}

func bitLen(v *fr.Element) int {
	for i := len(v) - 1; i >= 0; i-- {
		if v[i] != 0 {
			return 64*i + bits.Len64(v[i])
		}
	}
	return 0
}

// windowCount is the number of windows that take halved scalars, with the carry out of the last but one.
func windowCount(width int) int { return (halfBits + width) / width }

// lengths has, for each length in bits, the number of scalars that have it or are longer.
type lengths [halfBits + 1]int

// add counts a scalar; accumulate makes the numbers of what was counted.
func (l *lengths) add(length int) { l[length]++ }

func (l *lengths) accumulate() {
	for i := len(l) - 1; i > 0; i-- {
		l[i-1] += l[i]
	}
}

// dense are the lengths of n scalars that are as long as can be.
func dense(n int) (l lengths) {
	for i := range l {
		l[i] = n
	}
	return l
}

// reach counts the scalars that may have a digit in a window that starts at the given bit: those with bits there, and those one bit
// shorter, which may have a carry. Zero has none.
func (l *lengths) reach(bit int) int { return l[max(bit-1, 1)] }

// width is the width of windows with which the sum takes the fewest additions.
func (l *lengths) width() int {
	best, least := 0, math.MaxInt
	for width := 2; width <= maxWidth; width++ {
		if cost := l.cost(width); cost < least {
			best, least = width, cost
		}
	}
	return best
}

// perBucket is the number of additions that weigh a bucket: one to a row and one to a column, and few to the bits of these.
const perBucket = 2

// cost is the number of additions with windows of the given width.
func (l *lengths) cost(width int) (additions int) {
	for w := range windowCount(width) {
		if reach := l.reach(w * width); reach > 0 {
			additions += reach + perBucket<<(width-1)
		}
	}
	return additions
}

// planBytes bounds the memory of a plan for n scalars. Its terms and starts are no more than the additions of its sum, and these
// are no more than for n scalars of full length.
func planBytes(n int) int {
	longest := dense(n)
	return n*(fr.Bytes+2*4) + 4*longest.cost(longest.width()) + gridBytes
}

// recode adds half a window's range to every window but the last: the digit is then the window's bits less that half, from minus half
// up to half, with no carry to pass on.
func (p *plan) recode() {
	var offset fr.Element
	for w := range windowCount(p.width) - 1 {
		at := w*p.width + p.width - 1
		offset[at/64] |= 1 << (at % 64)
	}
	p.live, p.wide = reuse(p.live, len(p.scalars))[:0], reuse(p.wide, len(p.scalars))[:0]
	for i := range p.scalars {
		v := &p.scalars[i]
		sign := v[fr.Limbs-1] & signBit
		v[fr.Limbs-1] &^= signBit
		length := bitLen(v)
		if length > 0 {
			p.live = append(p.live, uint32(i))
		}
		if length >= p.width {
			p.wide = append(p.wide, uint32(i))
		}
		var carry uint64
		for j := range v {
			v[j], carry = bits.Add64(v[j], offset[j], carry)
		}
		v[fr.Limbs-1] |= sign
	}
}

// buckets returns the lists of window w: list i has the points whose digit is i+1 or, subtracted, -(i+1).
func (p *plan) buckets(w int) lists {
	win := &p.windows[w]
	win.once.Do(func() { p.sort(w) })
	return win.buckets
}

func (p *plan) sort(w int) {
	indices := p.wide
	if w == 0 {
		indices = p.live
	}
	win := &p.windows[w]
	terms, starts := win.buckets.terms, win.buckets.starts
	clear(starts)
	digit := p.digits(w)
	for _, i := range indices {
		d, _ := digit(&p.scalars[i])
		starts[d+1]++
	}
	// Digit d is list d-1; zeros, counted in starts[1], are left out.
	starts[0], starts[1] = 0, 0
	for i := 2; i < len(starts); i++ {
		starts[i] += starts[i-1]
	}
	for _, i := range indices {
		d, negative := digit(&p.scalars[i])
		if d == 0 {
			continue
		}
		terms[starts[d]] = i<<1 | negative
		starts[d]++
	}
	// Each start has moved to its list's end, which is the start of the next.
	copy(starts[1:], starts[:len(starts)-1])
	starts[1] = 0
	win.buckets = lists{terms, starts[1:]}
}

// digits returns a function that gives the size and the sign of the digit of a recoded scalar in window w.
func (p *plan) digits(w int) func(v *fr.Element) (size, negative uint32) {
	low := w * p.width
	limb, shift := low/64, low%64
	mask := uint64(1)<<p.width - 1
	half := int64(1) << (p.width - 1)
	if w == windowCount(p.width)-1 {
		half = 0
		if limb == fr.Limbs-1 {
			mask &= (signBit >> shift) - 1
		}
	}
	return func(v *fr.Element) (uint32, uint32) {
		window := v[limb] >> shift
		if limb+1 < fr.Limbs {
			window |= v[limb+1] << 1 << (63 - shift)
		}
		d := int64(window&mask) - half
		sign := d >> 63
		return uint32((d ^ sign) - sign), uint32(sign&1) ^ uint32(v[fr.Limbs-1]>>63)
	}
}

// clear erases what the plan knows of the scalars, and keeps the memory.
func (p *plan) clear() {
	clear(p.scalars)
	clear(p.live)
	clear(p.wide)
	clear(p.terms)
	clear(p.starts)
}

// grid splits the numbers 1 to n, n a power of two, into high*2^shift + low: a line for each high >= 1 and for each low >= 1
// of the numbers that have it, less one: the indices of their buckets.
type grid struct {
	buckets int   // n
	lines   lists // the rows, which are those of a high, then the columns
	bits    lists // of each bit of the numbers: the lines that have it set
}

// flat is the width up to which each bucket is a row: there are so few that nothing is saved by adding them up in lines first.
const flat = 5

func newGrid(width int) grid {
	n := 1 << (width - 1)
	shift := (width - 1) / 2
	if width <= flat {
		shift = 0
	}
	rows, columns := n>>shift, 1<<shift-1
	g := grid{buckets: n, lines: lists{starts: []uint32{0}}, bits: lists{starts: []uint32{0}}}
	for high := 1; high <= rows; high++ {
		g.lines.add(high<<shift, min((high+1)<<shift, n+1), 1)
	}
	for low := 1; low <= columns; low++ {
		g.lines.add(low, n+1, 1<<shift)
	}
	for bit := range shift {
		g.bits.addBit(bit, columns, rows)
	}
	for bit := range width - shift {
		g.bits.addBit(bit, rows, 0)
	}
	return g
}

// add adds the list of the numbers from first, by steps, to below end, less one.
func (l *lists) add(first, end, step int) {
	for v := first; v < end; v += step {
		l.terms = append(l.terms, uint32(v-1)<<1)
	}
	l.starts = append(l.starts, uint32(len(l.terms)))
}

// addBit adds the list of those of the numbers 1 to n that have the bit set, less one, moved by offset.
func (l *lists) addBit(bit, n, offset int) {
	for v := 1; v <= n; v++ {
		if v>>bit&1 != 0 {
			l.terms = append(l.terms, uint32(offset+v-1)<<1)
		}
	}
	l.starts = append(l.starts, uint32(len(l.terms)))
}
