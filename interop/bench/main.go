// Command bench measures `pinion prove` with a prepared key against `snarkjs groth16
// prove`, one after the other on the same machine, and prints a markdown table: the
// whole process from start to exit, with the median, least and most of several runs.
// `make bench-cpu` calls it.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pinion-zk/pinion/interop"
)

func main() {
	runs := flag.Int("runs", 5, "measured runs of each prover and circuit")
	flag.Parse()
	if err := bench(max(1, *runs)); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(runs int) error {
	dir, err := os.MkdirTemp("", "pinion-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fetched, err := interop.Open()
	if err != nil {
		return err
	}
	pinion, err := interop.BuildPinion(dir)
	if err != nil {
		return err
	}
	if err := os.Setenv("PINION_CIRCUITS", filepath.Join(dir, "catalogue")); err != nil {
		return err
	}

	fmt.Printf("%s, %d cores, %s, median of %d (least - most); CPU is user + system time of the process\n\n",
		processor(), runtime.NumCPU(), runtime.Version(), runs)
	fmt.Println("| circuit | prover | wall s | CPU s | peak MiB |")
	fmt.Println("|---|---|---|---|---|")
	for _, name := range interop.Published {
		if err := compare(dir, pinion, fetched, fetched.Circuit(name), runs); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// compare measures both provers on one witness of a circuit, in turns.
func compare(dir, pinion string, fetched *interop.Fetched, c interop.Circuit, runs int) error {
	witness, proof, public := filepath.Join(dir, "w.wtns"), filepath.Join(dir, "proof.json"), filepath.Join(dir, "public.json")
	if _, err := measure(fetched.Snarkjs("wtns", "calculate", c.Wasm, c.Input, witness)); err != nil {
		return err
	}
	if _, err := measure([]string{pinion, "circuit", "add", c.Name, "--zkey", c.Zkey, "--wasm", c.Wasm}); err != nil {
		return err
	}
	provers := []struct {
		name    string
		command []string
		usages  []usage
	}{
		{name: "pinion", command: []string{pinion, "prove", c.Name, "--witness", witness, "--proof", proof, "--public", public}},
		{name: "snarkjs", command: fetched.Snarkjs("groth16", "prove", c.Zkey, witness, proof, public)},
	}
	for i := range runs + 1 {
		for p := range provers {
			u, err := measure(provers[p].command)
			if err != nil {
				return err
			}
			if i > 0 { // the first run brings the files into memory
				provers[p].usages = append(provers[p].usages, u)
			}
		}
	}
	for _, p := range provers {
		fmt.Printf("| %s | %s | %s | %s | %s |\n", c.Name, p.name,
			spread(p.usages, "%.3f", func(u usage) float64 { return u.wall.Seconds() }),
			spread(p.usages, "%.3f", func(u usage) float64 { return u.cpu.Seconds() }),
			spread(p.usages, "%.0f", func(u usage) float64 { return float64(u.peak) / (1 << 20) }))
	}
	return nil
}

// usage is what one process took.
type usage struct {
	wall, cpu time.Duration
	peak      int64 // bytes of resident memory at most
}

func measure(command []string) (usage, error) {
	cmd := exec.Command(command[0], command[1:]...)
	start := time.Now()
	out, err := cmd.CombinedOutput()
	wall := time.Since(start)
	if err != nil {
		return usage{}, fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, out)
	}
	state := cmd.ProcessState
	return usage{
		wall: wall,
		cpu:  state.UserTime() + state.SystemTime(),
		peak: state.SysUsage().(*syscall.Rusage).Maxrss << 10, // Linux counts in KiB
	}, nil
}

// spread prints the median, least and most of a figure.
func spread(usages []usage, format string, figure func(usage) float64) string {
	sorted := make([]float64, len(usages))
	for i, u := range usages {
		sorted[i] = figure(u)
	}
	slices.Sort(sorted)
	return fmt.Sprintf(format+" ("+format+" - "+format+")", sorted[len(sorted)/2], sorted[0], sorted[len(sorted)-1])
}

// processor is the name that Linux has for the processor.
func processor() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(info)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
