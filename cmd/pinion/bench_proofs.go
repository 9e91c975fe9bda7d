package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/gpu"
	"github.com/pinion-zk/pinion/groth16"
	"github.com/pinion-zk/pinion/pool"
)

// benchProof is tasks of some proofs each, of one circuit.
type benchProof struct {
	Circuit   string       `json:"circuit"`
	Log       int          `json:"log"`
	Batch     int          `json:"batch"`
	Alone     milliseconds `json:"alone_ms"` // from its submission to its end, with nothing else under way: the median
	Task      milliseconds `json:"task_ms"`  // from the end of one to the end of the next, while others are under way: the mean
	Least     milliseconds `json:"least_ms"`
	Greatest  milliseconds `json:"greatest_ms"`
	Floor     milliseconds `json:"floor_ms"`
	Rate      float64      `json:"proofs_per_second"`
	Upload    milliseconds `json:"upload_ms"`     // phases are means over the tasks
	Overlap   milliseconds `json:"overlapped_ms"` // of the upload, inside the kernels of the task before
	Synthesis milliseconds `json:"synthesis_ms"`
	NTT       milliseconds `json:"ntt_ms"`
	MSM       milliseconds `json:"msm_ms"`
	Finish    milliseconds `json:"finish_ms"`
	Tasks     int          `json:"tasks"`
	Footprint int64        `json:"device_bytes"`
}

// proofLogs are the sizes of circuits that are asked for: at least one.
func (b *bench) proofLogs() []int {
	logs := slices.DeleteFunc([]int{13, 16, 20, 24, 27}, func(log int) bool { return log < b.From || log > b.To })
	if len(logs) == 0 {
		logs = []int{b.To}
	}
	return logs
}

// proofs measures whole proofs, on the card itself: an executor would put single ones together.
func (b *bench) proofs() error {
	for _, log := range b.proofLogs() {
		for _, curve := range b.curves {
			if log == 27 && curve != groth16.BLS12381 {
				continue
			}
			for _, share := range []int{0, sparse} {
				c := &benchCircuit{bench: b, curve: curve, log: log, sparse: share}
				if err := c.measure(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// benchCircuit is a synthetic circuit with as many rows and wires as its domain has elements.
type benchCircuit struct {
	*bench
	curve  groth16.Curve
	log    int
	sparse int

	pk      *groth16.ProvingKey
	vk      *groth16.VerifyingKey
	witness []byte
	key     gpu.Key
	floor   time.Duration // of one proof
}

func (c *benchCircuit) name() string {
	if c.sparse != 0 {
		return c.curve.String() + " proof, sparse"
	}
	return c.curve.String() + " proof"
}

// hostBytes is what making a circuit of that size and its key takes of the host's memory for each row.
const hostBytes = 400

func (c *benchCircuit) measure() (err error) {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	if !c.fits(c.name(), c.log, 0) { // memory is for the card to refuse: a larger circuit has fewer tables, so it isn't in proportion
		return nil
	}
	free, err := pool.HostLimit(0)
	if err != nil {
		return err
	}
	if needs := int64(hostBytes) << c.log; needs > free {
		c.skip(c.name(), c.log, fmt.Sprintf("it takes about %.0f GB of the host's memory, of which %.0f are free", float64(needs)/1e9, float64(free)/1e9))
		return nil
	}
	begin := time.Now()
	if err := c.setUp(); errors.Is(err, gpu.ErrMemory) {
		c.skip(c.name(), c.log, err.Error())
		return nil
	} else if err != nil {
		return fmt.Errorf("%s 2^%d: %w", c.name(), c.log, err)
	}
	defer func() { err = errors.Join(err, c.key.Unload()) }()
	batches, err := c.batches()
	if err != nil {
		return err
	}
	for _, batch := range batches {
		if err := c.tasks(batch); err != nil {
			return fmt.Errorf("%s 2^%d, tasks of %d: %w", c.name(), c.log, batch, err)
		}
	}
	c.seen[c.name()] = expense{log: c.log, time: time.Since(begin)}
	return nil
}

// batches are single proofs, and as many as the card computes at once.
func (c *benchCircuit) batches() ([]int, error) {
	footprint, err := c.card.Footprint(c.pk)
	if err != nil {
		return nil, err
	}
	if footprint.Batch > 1 {
		return []int{1, footprint.Batch}, nil
	}
	return []int{1}, nil
}

// setUp makes the circuit and its keys, and loads it. The points are computed on the card.
func (c *benchCircuit) setUp() error {
	share := float64(c.sparse) / 2000
	synthetic := circuit.Synthetic{Curve: c.curve, Rows: 1 << c.log, Public: 1, Zeros: share, Ones: share, Seed: 1}
	constraints, witness, err := synthetic.Make(c.ctx)
	if err != nil {
		return err
	}
	if c.pk, c.vk, err = groth16.Setup(c.ctx, constraints, groth16.OddCoset); err != nil {
		return err
	}
	c.witness = witness
	c.floor = c.floorOfProof()
	if c.key, err = c.card.Load(c.pk); err != nil {
		return err
	}
	return nil
}

// floorOfProof is the sum of the floors of its parts: four sums in G1 and one in G2, with all tables of multiples that are of use, and
// six transforms. Points at infinity count for nothing, nor does the synthesis.
func (c *benchCircuit) floorOfProof() time.Duration {
	rates := c.rates[c.curve]
	first := c.pk.Vars - c.pk.PointsC.Len()/groth16.ScalarSize // wire of C
	sum := func(group groth16.Group, mix scalarMix) time.Duration {
		return rates.sum(c.curve, group, mix, anyTables)
	}
	b := witnessMix(c.pk.PointsB1, c.witness)
	return sum(groth16.G1, witnessMix(c.pk.PointsA, c.witness)) + sum(groth16.G1, b) + sum(groth16.G2, b) +
		sum(groth16.G1, witnessMix(c.pk.PointsC, c.witness[first*groth16.ScalarSize:])) + sum(groth16.G1, scalarMix{full: float64(c.pk.Domain)}) +
		rates.transforms(6, c.log)
}

// witnessMix is that of the wires that have a point. The section holds exponents.
func witnessMix(points groth16.Section, witness []byte) (mix scalarMix) {
	exponents := points.Unchecked()
	var zero, one [groth16.ScalarSize]byte
	one[0] = 1
	for i := 0; i < len(exponents); i += groth16.ScalarSize {
		if [groth16.ScalarSize]byte(exponents[i:]) == zero {
			continue
		}
		switch [groth16.ScalarSize]byte(witness[i:]) {
		case zero:
		case one:
			mix.ones++
		default:
			mix.full++
		}
	}
	return mix
}

// tasks measures tasks of batch proofs: some by themselves, then many of which the next is uploaded while one is computed.
func (c *benchCircuit) tasks(batch int) (err error) {
	pinned := c.card.Pinned(pool.HugePages{})
	slots := make([][]gpu.Input, c.card.Info().Overlap)
	for i := range slots {
		memory, err := pinned.Alloc((batch*len(c.witness) + 4095) &^ 4095)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, pinned.Free(memory)) }()
		for at := range batch {
			in := memory[at*len(c.witness):][:len(c.witness)]
			copy(in, c.witness)
			slots[i] = append(slots[i], gpu.Input{Witness: in})
		}
	}
	row := benchProof{Circuit: fmt.Sprintf("%s 2^%d", c.name(), c.log), Log: c.log, Batch: batch, Floor: inMS(time.Duration(batch) * c.floor), Footprint: c.key.Bytes()}
	if err := c.alone(&row, slots); err != nil {
		return err
	}
	if err := c.steady(&row, slots); err != nil {
		return err
	}
	c.report.Proofs = append(c.report.Proofs, row)
	c.tell("%s, tasks of %d: %s ms alone, then %s ms each, floor %s: %.4g proofs/s", row.Circuit, batch, row.Alone, row.Task, row.Floor, row.Rate)
	return nil
}

// alone times tasks with nothing beside them. The first doesn't count, unless it is so long that it is the only one.
func (c *benchCircuit) alone(row *benchProof, slots [][]gpu.Input) error {
	const long = 2 * time.Second
	var times []time.Duration
	for len(times) <= c.Repetitions && (len(times) == 0 || times[0] < long) {
		begin := time.Now()
		run, err := c.begin(slots[len(times)%len(slots)])
		if err != nil {
			return err
		}
		<-run.Done()
		times = append(times, time.Since(begin))
		proofs, _, err := run.Result()
		if err == nil {
			err = c.verify(proofs)
		}
		if err != nil {
			return err
		}
	}
	if len(times) > 1 {
		times = times[1:]
	}
	slices.Sort(times)
	row.Alone = inMS(times[len(times)/2])
	return nil
}

// steady times tasks that follow one another: as many are under way as the card takes. Proofs are verified when the last is there.
func (c *benchCircuit) steady(row *benchProof, slots [][]gpu.Input) (err error) {
	var runs []gpu.Run
	defer func() { // no buffer goes while the card may read it
		for _, run := range runs {
			<-run.Done()
			_, _, failed := run.Result()
			err = errors.Join(err, failed)
		}
	}()
	row.Tasks = max(min(int(1500/row.Alone), 100), min(c.Repetitions, 4)) + 1
	var ends []time.Time
	var proofs []*groth16.Proof
	for begun := 0; len(ends) < row.Tasks; {
		if begun < row.Tasks && len(runs) < len(slots) {
			run, err := c.begin(slots[begun%len(slots)])
			if err != nil {
				return err
			}
			begun++
			runs = append(runs, run)
			continue
		}
		oldest := runs[0]
		<-oldest.Done()
		ends = append(ends, time.Now())
		runs = runs[1:]
		made, timings, err := oldest.Result()
		if err != nil {
			return err
		}
		proofs = append(proofs, made...)
		row.add(timings)
	}
	row.time(ends)
	return c.verify(proofs)
}

// begin begins a task unless the run is interrupted.
func (c *benchCircuit) begin(inputs []gpu.Input) (gpu.Run, error) {
	if err := c.ctx.Err(); err != nil {
		return nil, err
	}
	return c.card.Begin(&gpu.Task{Key: c.key, Inputs: inputs})
}

// add adds the phases of one of the tasks to their means.
func (p *benchProof) add(t gpu.Timings) {
	for _, phase := range []struct {
		mean *milliseconds
		took time.Duration
	}{{&p.Upload, t.Upload}, {&p.Overlap, t.Overlapped}, {&p.Synthesis, t.Synthesis}, {&p.NTT, t.NTT}, {&p.MSM, t.MSM}, {&p.Finish, t.Finish}} {
		*phase.mean += inMS(phase.took) / milliseconds(p.Tasks)
	}
}

// time sets the times of tasks by when they ended.
func (p *benchProof) time(ends []time.Time) {
	var gaps []time.Duration
	for i := 1; i < len(ends); i++ {
		gaps = append(gaps, ends[i].Sub(ends[i-1]))
	}
	mean := ends[len(ends)-1].Sub(ends[0]) / time.Duration(len(gaps))
	p.Task, p.Least, p.Greatest = inMS(mean), inMS(slices.Min(gaps)), inMS(slices.Max(gaps))
	p.Rate = float64(p.Batch) / mean.Seconds()
}

// verify checks proofs of the witness on all cores.
func (c *benchCircuit) verify(proofs []*groth16.Proof) error {
	public := groth16.PublicFromWitness(c.witness, c.pk.Public)
	var all errgroup.Group
	for _, proof := range proofs {
		all.Go(func() error {
			if proof == nil {
				return fmt.Errorf("%w: a proof is none", gpu.ErrFault)
			}
			if err := c.vk.Verify(proof, public); err != nil {
				return fmt.Errorf("%w: %w", gpu.ErrFault, err)
			}
			return nil
		})
	}
	return all.Wait()
}
