package bn254

import (
	"context"
	"runtime"
	"unsafe"
)

// blockG1 is how many points an adderG1 adds up at a time: enough to share an inversion among many additions,
// few enough to stay in the second level cache.
const blockG1 = 4096

// adderG1 sums lists of points by additions in affine coordinates: three multiplications and a square each, and three more for
// its share of an inversion (Montgomery's trick). Lists are halved round by round, adding neighbours, so that all additions
// of a round are independent, whatever the lists: one long list costs what many short ones do.
type adderG1 struct {
	block   int
	x, y    vectorG1 // the points of the block: run after run
	runs    []run    // lists, or parts of lists, in the block
	used    int      // points in the block
	targets []int32  // where in the block each sum of the round goes
	vanish  []int32  // sums of the round that are the point at infinity
	hasZero bool     // whether the block may have the point at infinity

	x1, y1, x2, y2 vectorG1 // operands of the round
	slope, run     vectorG1 // rise and run, then the sums
	tree, swap     vectorG1 // for the division

	out   []affineG1 // where the sums go: list after list
	next  int        // where the sum of the next list goes
	lines []affineG1 // for weigh
	peak  int        // points that there have been in the block
}

// newAdderG1 makes an adder with blocks of the given size, halves of which are in whole lanes.
func newAdderG1(block int) *adderG1 {
	half := block / 2
	return &adderG1{
		block: block,
		x:     newVectorG1(block), y: newVectorG1(block),
		runs: make([]run, 0, block), targets: make([]int32, 0, half), vanish: make([]int32, 0, half),
		x1: newVectorG1(half), y1: newVectorG1(half), x2: newVectorG1(half), y2: newVectorG1(half),
		slope: newVectorG1(half), run: newVectorG1(half),
		tree: newVectorG1(2 * half), swap: newVectorG1(half),
	}
}

// clear erases the points that the adder has worked on.
func (a *adderG1) clear() {
	for _, v := range []vectorG1{a.x, a.y, a.tree} {
		v.slice(0, a.peak).clear()
	}
	for _, v := range []vectorG1{a.x1, a.y1, a.x2, a.y2, a.slope, a.run, a.swap} {
		v.slice(0, a.peak/2).clear()
	}
	clear(a.lines)
	a.peak = 0
}

// adderBytesG1 is the memory of newAdderG1(block), and of the lines for weigh.
func adderBytesG1(block int) int {
	const vectors = 13 // of half a block
	return block/2*(vectors*int(unsafe.Sizeof(fieldG1{}))+3*8) + maxLines*int(unsafe.Sizeof(affineG1{}))
}

// begin empties the block, and has the sums of the lists that follow put into out.
func (a *adderG1) begin(out []affineG1) {
	clear(out)
	a.out, a.next = out, 0
	a.runs, a.used, a.hasZero = a.runs[:0], 0, false
}

// take adds up the points of each list of terms. Point k of a term is points[k-first]; those before first are left out.
// The sums are there after end.
func (a *adderG1) take(ctx context.Context, points []affineG1, first int, terms lists) error {
	fetched := 0
	for i := range terms.len() {
		rest := terms.list(i)
		for len(rest) > 0 {
			if at := int(terms.starts[i+1]) - len(rest); at >= fetched {
				fetched = min(at+ahead, len(terms.terms))
				fetchG1(points, first, terms.terms[at:fetched])
			}
			rest = rest[a.load(points, first, rest):]
			if a.used < a.block {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			a.flush()
		}
		a.next++
	}
	return nil
}

// end finishes the sums.
func (a *adderG1) end() {
	a.flush()
	a.out = nil
}

// fetchG1 reads a word of each point, so that all are on their way from memory before the first is needed.
func fetchG1(points []affineG1, first int, terms []uint32) {
	var sum uint64
	for _, term := range terms {
		if index := int(term>>1) - first; index >= 0 {
			sum += *(*uint64)(unsafe.Pointer(&points[index]))
		}
	}
	runtime.KeepAlive(sum)
}

// load takes terms of a list into the block until it is full, and returns how many. The list's sum so far comes first.
func (a *adderG1) load(points []affineG1, first int, terms []uint32) int {
	start := a.used
	if sum := &a.out[a.next]; !sum.IsInfinity() {
		a.push(sum, false)
	}
	taken := 0
	for taken < len(terms) && a.used < a.block {
		index := int(terms[taken]>>1) - first
		taken++
		if index < 0 || points[index].IsInfinity() {
			continue
		}
		a.push(&points[index], terms[taken-1]&1 != 0)
	}
	if a.used > start {
		a.runs = append(a.runs, run{int32(a.next), int32(a.used - start)})
	}
	return taken
}

func (a *adderG1) push(p *affineG1, negative bool) {
	a.x.set(a.used, &p.X)
	if negative {
		var y fieldG1
		a.y.set(a.used, y.Neg(&p.Y))
	} else {
		a.y.set(a.used, &p.Y)
	}
	a.used++
}

// flush adds up the block and empties it.
func (a *adderG1) flush() {
	a.peak = max(a.peak, (a.used+2*lanes-1)/(2*lanes)*(2*lanes))
	for a.used > len(a.runs) {
		a.round()
	}
	for i, r := range a.runs {
		a.out[r.target] = affineG1{X: a.x.get(i), Y: a.y.get(i)}
	}
	a.runs, a.used, a.hasZero = a.runs[:0], 0, false
}

// round adds neighbours within each run.
func (a *adderG1) round() {
	a.targets = a.targets[:0]
	from, to := 0, 0
	for i := range a.runs {
		length := int(a.runs[i].length)
		for range length / 2 {
			a.pair(from, to)
			from, to = from+2, to+1
		}
		if length%2 != 0 {
			a.move(from, to)
			from, to = from+1, to+1
		}
		a.runs[i].length = int32((length + 1) / 2)
	}
	a.used = to
	a.add(len(a.targets))
}

func (a *adderG1) move(from, to int) {
	a.x.copy(to, a.x, from)
	a.y.copy(to, a.y, from)
}

// pair makes points from and from+1 operands of an addition whose sum goes to place to, which isn't after them.
func (a *adderG1) pair(from, to int) {
	if a.hasZero {
		switch {
		case a.isInfinity(from):
			a.move(from+1, to)
			return
		case a.isInfinity(from + 1):
			a.move(from, to)
			return
		}
	}
	k := len(a.targets)
	a.x1.copy(k, a.x, from)
	a.y1.copy(k, a.y, from)
	a.x2.copy(k, a.x, from+1)
	a.y2.copy(k, a.y, from+1)
	a.targets = append(a.targets, int32(to))
}

func (a *adderG1) isInfinity(i int) bool { return a.x.isZero(i) && a.y.isZero(i) }

// add computes the n sums of the round and puts them into their places.
func (a *adderG1) add(n int) {
	if n == 0 {
		return
	}
	padded := a.pad(n)
	x1, y1, x2, y2 := a.x1.slice(0, padded), a.y1.slice(0, padded), a.x2.slice(0, padded), a.y2.slice(0, padded)
	slope, run := a.slope.slice(0, padded), a.run.slice(0, padded)
	run.sub(x2, x1)
	slope.sub(y2, y1)
	if !slope.divide(run, a.tree, a.swap) {
		a.exceptions(n)
		slope.divide(run, a.tree, a.swap)
	}
	x3, y3 := run, slope
	x3.square(slope)
	x3.sub(x3, x1)
	x3.sub(x3, x2)
	x1.sub(x1, x3)
	y3.mul(slope, x1)
	y3.sub(y3, y1)
	for i, to := range a.targets {
		a.x.copy(int(to), x3, i)
		a.y.copy(int(to), y3, i)
	}
	var zero fieldG1
	for _, i := range a.vanish {
		a.x.set(int(a.targets[i]), &zero)
		a.y.set(int(a.targets[i]), &zero)
	}
	a.vanish = a.vanish[:0]
}

// pad rounds n up to whole lanes, filling up with additions of any two points that differ.
func (a *adderG1) pad(n int) int {
	var zero, one fieldG1
	one.SetOne()
	for ; n%lanes != 0; n++ {
		a.x1.set(n, &zero)
		a.x2.set(n, &one)
	}
	return n
}

// exceptions finds the pairs with equal x: doublings, whose slope is 3x²/2y, and points that cancel.
func (a *adderG1) exceptions(n int) {
	for i := range n {
		if !a.run.isZero(i) {
			continue
		}
		if !a.slope.isZero(i) {
			var one fieldG1
			a.run.set(i, one.SetOne())
			a.vanish = append(a.vanish, int32(i))
			a.hasZero = true
			continue
		}
		x, y := a.x1.get(i), a.y1.get(i)
		var square, triple fieldG1
		square.Square(&x)
		triple.Double(&square).Add(&triple, &square)
		a.slope.set(i, &triple)
		a.run.set(i, y.Double(&y))
	}
}

// weigh does the last step of a sum for windows whose buckets lie one after the other. It leaves points in out, as many for each
// window as it has bits, the lowest first: the sum of (i+1) times buckets[i] is that of 2^j times point j. For that it adds up the
// buckets in lines, and then the lines in whose number each bit is set: sums of lists, which the adder does fast, and nothing else.
func (a *adderG1) weigh(ctx context.Context, out, buckets []affineG1, g *grid) error {
	lines := g.lines.len()
	a.lines = reuse(a.lines, len(buckets)/g.buckets*lines)
	a.begin(a.lines)
	for ; len(buckets) > 0; buckets = buckets[g.buckets:] {
		if err := a.take(ctx, buckets[:g.buckets], 0, g.lines); err != nil {
			return err
		}
	}
	a.end()
	a.begin(out)
	for rest := a.lines; len(rest) > 0; rest = rest[lines:] {
		if err := a.take(ctx, rest[:lines], 0, g.bits); err != nil {
			return err
		}
	}
	a.end()
	return nil
}
