package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/pinion-zk/pinion/gpu"
	"github.com/pinion-zk/pinion/groth16"
	"github.com/pinion-zk/pinion/service"
)

type benchCmd struct {
	Kernels benchKernels `cmd:"" help:"Measure sums, transforms and whole proofs on a CUDA device, each beside its floor."`
}

type benchKernels struct {
	Curve       []string      `placeholder:"C" enum:"bn128,bls12381" default:"bn128,bls12381" help:"Curves: ${enum}."`
	Only        []string      `placeholder:"WHAT" enum:"ntt,msm,proofs" default:"ntt,msm,proofs" help:"What to measure: ${enum}."`
	From        int           `default:"13" help:"Least size, as a power of two."`
	To          int           `default:"27" help:"Greatest size, as a power of two."`
	Repetitions int           `default:"5" help:"How often each sum and transform is timed, after once that doesn't count."`
	Budget      time.Duration `default:"15m" help:"Time for everything. What won't fit is skipped, and said to be."`
}

func (*benchKernels) Help() string {
	return "Sums and transforms have sizes of even powers of two, up to 2^26; proofs have 2^13, 2^16, 2^20, 2^24 and, on bls12381, 2^27, or else the " +
		"greatest size asked for. Inputs are random and lie on the card, but for the witnesses of proofs, which are uploaded from pinned memory. " +
		"Sparse scalars are zero in 42.5 % of the cases and one in as many. Every result is checked. A floor is the time of the arithmetic alone, at the " +
		"rates that bare multiplications and additions have on the same card in the same run.\n\n" +
		"PINION_DEVICE and PINION_CUDA_LIB choose the device and the library."
}

// measurements are the parts of a run in their order, and the shares of the time that is left when they start.
var measurements = []struct {
	name  string
	share float64
	make  func(b *bench) error
}{
	{"ntt", 0.15, (*bench).transforms},
	{"msm", 0.5, (*bench).sums},
	{"proofs", 1, (*bench).proofs},
}

// bench is a run.
type bench struct {
	*app
	benchKernels
	curves   []groth16.Curve
	card     *gpu.Card
	rates    map[groth16.Curve]benchRates
	deadline time.Time // of the run
	part     time.Time // of the part under way
	seen     map[string]expense
	report   benchReport
}

// expense is what the last size of something took.
type expense struct {
	log    int
	time   time.Duration
	memory int64 // of the card, if it is known
}

func (k *benchKernels) Run(a *app) (err error) {
	if k.From < 1 || k.To > 27 || k.From > k.To {
		return &usageError{fmt.Errorf("sizes from 2^%d to 2^%d, expected a range within 2^1 to 2^27", k.From, k.To)}
	}
	if k.Repetitions < 1 || k.Repetitions > 1000 {
		return &usageError{fmt.Errorf("%d repetitions, expected 1 to 1000", k.Repetitions)}
	}
	begin := time.Now()
	card, library, err := a.openCard()
	if err != nil {
		return err
	}
	b := &bench{
		app: a, benchKernels: *k, card: card, rates: make(map[groth16.Curve]benchRates), deadline: begin.Add(k.Budget), seen: make(map[string]expense),
		report: benchReport{
			Command: strings.Join(os.Args[1:], " "), Date: begin.UTC().Truncate(time.Second), Device: card.Info().Name, Driver: driverVersion(),
			Version: service.Version(), Library: library,
		},
	}
	for _, name := range k.Curve {
		curve, err := groth16.ParseCurve(name)
		if err != nil {
			return &usageError{err}
		}
		b.curves = append(b.curves, curve)
	}
	runtime.LockOSThread() // as an executor's goroutine does for a card
	defer runtime.UnlockOSThread()
	err = errors.Join(b.measure(), card.Close())
	b.report.Seconds = time.Since(begin).Seconds()
	return errors.Join(err, a.print(b.report, b.report.write))
}

// openCard opens the card that the environment names, and says which library it is from.
func (a *app) openCard() (card *gpu.Card, library string, err error) {
	config, err := a.config()
	if err != nil {
		return nil, "", err
	}
	number, isCard := strings.CutPrefix(config.Device, "cuda:")
	if config.Device == "auto" {
		number, isCard = "0", true
	}
	ordinal, err := strconv.Atoi(number)
	if !isCard || err != nil {
		return nil, "", &usageError{fmt.Errorf("PINION_DEVICE=%s is no CUDA device, which is what is measured: set it to cuda:N", config.Device)}
	}
	card, err = gpu.OpenCUDA(config.CUDALib, ordinal)
	switch {
	case errors.Is(err, gpu.ErrNoLibrary):
		return nil, "", fmt.Errorf("%w; make cuda builds it, and PINION_CUDA_LIB says where it is", err)
	case errors.Is(err, gpu.ErrNoCard):
		return nil, "", fmt.Errorf("%w; nvidia-smi lists the devices, and PINION_DEVICE=cuda:N chooses one", err)
	case err != nil:
		return nil, "", err
	}
	return card, card.Library(), nil
}

var driverForm = regexp.MustCompile(`Kernel Module.*?\s([0-9]+\.[0-9.]+)\s`)

// driverVersion is that of NVIDIA's kernel module.
func driverVersion() string {
	text, err := os.ReadFile("/proc/driver/nvidia/version")
	if err != nil {
		return "none"
	}
	if found := driverForm.FindSubmatch(text); found != nil {
		return string(found[1])
	}
	return oneLine(string(text))
}

func (b *bench) measure() error {
	if err := b.ceilings(); err != nil {
		return err
	}
	for _, m := range measurements {
		for _, name := range b.Only {
			if name != m.name {
				continue
			}
			b.part = time.Now().Add(time.Duration(float64(time.Until(b.deadline)) * m.share))
			if m.name == b.Only[len(b.Only)-1] {
				b.part = b.deadline
			}
			if err := m.make(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// tell says something at once: results are printed at the end.
func (b *bench) tell(format string, args ...any) {
	if !b.json {
		fmt.Fprintf(b.stderr, format+"\n", args...)
	}
}

// fits says whether something of a size can be expected to end in time and to find memory on the card, by what its last size took. What
// doesn't fit is noted.
func (b *bench) fits(what string, log int, free int64) bool {
	left := time.Until(b.part)
	if left <= 0 {
		b.skip(what, log, "no time is left")
		return false
	}
	last, ok := b.seen[what]
	if !ok {
		return true
	}
	growth := float64(int(1) << max(log-last.log, 0))
	if last.log < smallest { // where time doesn't grow with size yet
		growth = 1
	}
	if needs := time.Duration(float64(last.time) * growth); needs > left {
		b.skip(what, log, fmt.Sprintf("it would take about %s, and %s are left", round(needs), round(left)))
		return false
	}
	if needs := float64(last.memory) * growth; free > 0 && needs > float64(free) {
		b.skip(what, log, fmt.Sprintf("it would take about %.0f GB of the card's memory, of which %.0f are free", needs/1e9, float64(free)/1e9))
		return false
	}
	return true
}

// smallest is the size from which on time grows with it.
const smallest = 18

func round(d time.Duration) time.Duration {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Second)
}

func (b *bench) skip(what string, log int, why string) {
	text := fmt.Sprintf("%s 2^%d: %s", what, log, why)
	b.report.Skipped = append(b.report.Skipped, text)
	b.tell("skipped: %s", text)
}

// ceilings measures the rates of bare operations.
func (b *bench) ceilings() (err error) {
	for _, curve := range b.curves {
		var r benchRates
		for _, c := range []struct {
			what gpu.BenchCase
			rate *float64
		}{
			{gpu.BenchCase{Kind: gpu.BenchMultiplications}, &r.Multiplications},
			{gpu.BenchCase{Kind: gpu.BenchAdditions, Group: groth16.G1}, &r.G1},
			{gpu.BenchCase{Kind: gpu.BenchAdditions, Group: groth16.G2}, &r.G2},
		} {
			c.what.Curve, c.what.Repetitions = curve, b.Repetitions
			if *c.rate, err = b.ceiling(c.what); err != nil {
				return err
			}
		}
		b.rates[curve] = r
		b.report.Rates = append(b.report.Rates, curveRates{curve, r})
		b.tell("%s: %s", curve, r)
	}
	return nil
}

// ceiling is the rate of as many operations as take long enough to fill the card and make the launch negligible.
func (b *bench) ceiling(what gpu.BenchCase) (float64, error) {
	const enough = 5 * time.Millisecond
	for what.Log = 6; ; what.Log += 4 {
		result, err := b.card.Bench(what)
		if err != nil {
			return 0, err
		}
		if result.Least >= enough || what.Log > 34 {
			return float64(result.Operations) / result.Least.Seconds(), nil
		}
	}
}

func (r benchRates) String() string {
	return fmt.Sprintf("bare operations, G/s: %.3g products, %.3g additions in G1, %.3g in G2", r.Multiplications/1e9, r.G1/1e9, r.G2/1e9)
}

// sizes are the even powers of two that are asked for.
func (b *bench) sizes() (logs []int) {
	for log := (b.From + 1) / 2 * 2; log <= min(b.To, 26); log += 2 {
		logs = append(logs, log)
	}
	return logs
}

func (b *bench) transforms() error {
	for _, log := range b.sizes() {
		for _, curve := range b.curves {
			for _, t := range []struct {
				kind  gpu.BenchKind
				count int
			}{{gpu.BenchNTTDown, 1}, {gpu.BenchNTTUp, 1}, {gpu.BenchQuotient, 6}} {
				row := benchRow{What: fmt.Sprintf("%s %s", curve, t.kind), Log: log, Floor: inMS(b.rates[curve].transforms(t.count, log))}
				if err := b.one(row, gpu.BenchCase{Kind: t.kind, Curve: curve, Log: log}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (b *bench) sums() error {
	for _, log := range b.sizes() {
		for _, s := range []struct {
			name   string
			tables int // at most; 0 is what the library chooses
			sparse int
			floor  int // tables of the floor
		}{{"", 1, 0, 1}, {", sparse", 1, sparse, 1}, {", tables", 0, 0, anyTables}, {", sparse, tables", 0, sparse, anyTables}} {
			for _, curve := range b.curves {
				for _, group := range []groth16.Group{groth16.G1, groth16.G2} {
					row := benchRow{What: fmt.Sprintf("%s G%d%s", curve, group, s.name), Log: log}
					row.Floor = inMS(b.rates[curve].sum(curve, group, mixOf(1<<log, s.sparse), s.floor))
					what := gpu.BenchCase{Kind: gpu.BenchMSM, Curve: curve, Group: group, Log: log, Tables: s.tables, Sparse: s.sparse}
					if err := b.one(row, what); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// sparse is the share of zeros and ones, in a thousand, of what is called sparse.
const sparse = 850

// one measures one thing, if there is the time.
func (b *bench) one(row benchRow, what gpu.BenchCase) error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	if !b.fits(row.What, row.Log, 0) {
		return nil
	}
	what.Repetitions = b.Repetitions
	begin := time.Now()
	result, err := b.card.Bench(what)
	if errors.Is(err, gpu.ErrMemory) {
		b.skip(row.What, row.Log, err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	b.seen[row.What] = expense{log: row.Log, time: time.Since(begin)}
	row.Least, row.Median, row.Greatest = inMS(result.Least), inMS(result.Median), inMS(result.Greatest)
	row.Operations, row.Bits, row.Tables = result.Operations, result.Bits, result.Tables
	b.report.Rows = append(b.report.Rows, row)
	b.tell("%s 2^%d: %s ms, floor %s", row.What, row.Log, row.Median, row.Floor)
	return nil
}
