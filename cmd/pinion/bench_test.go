package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pinion-zk/pinion/groth16"
)

// softwareLibrary is the library of the software device: the kernels, without a card.
func softwareLibrary(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "build", "libpinion_software.so"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("no device to test with: make cuda-software builds one: ", err)
	}
	return path
}

// Everything that there is to measure, in the smallest size.
func TestBenchKernels(t *testing.T) {
	library := "PINION_CUDA_LIB=" + softwareLibrary(t)
	args := []string{"bench", "kernels", "--curve", "bn128", "--from", "2", "--to", "2", "--repetitions", "1"}
	var report struct {
		Command, Device, Driver, Version, Library string
		Rates                                     []struct {
			Curve                   string
			Multiplications, G1, G2 float64
		}
		Kernels []struct {
			What   string
			Log    int
			Median float64 `json:"median_ms"`
			Floor  float64 `json:"floor_ms"`
			Bits   int
		}
		Proofs []struct {
			Circuit string
			Batch   int
			Rate    float64 `json:"proofs_per_second"`
			Floor   float64 `json:"floor_ms"`
			Sums    float64 `json:"msm_ms"`
		}
		Skipped []string
	}
	out := must(t, pinion(t, []string{library}, append(args, "--json")...))
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if report.Command != strings.Join(append(args, "--json"), " ") || !strings.HasPrefix(report.Device, "software:0 (") || report.Driver == "" || report.Version == "" || report.Library != "libpinion_software.so, interface 2" {
		t.Errorf("head %+v", report)
	}
	if len(report.Rates) != 1 || report.Rates[0].G1 <= 0 || report.Rates[0].G2 <= 0 || report.Rates[0].Multiplications <= 0 {
		t.Errorf("rates %+v", report.Rates)
	}
	var kernels []string
	for _, k := range report.Kernels {
		kernels = append(kernels, k.What)
		if k.Log != 2 || k.Median <= 0 || k.Floor <= 0 {
			t.Errorf("%+v", k)
		}
	}
	want := "bn128 NTT down|bn128 NTT up|bn128 quotient|bn128 G1|bn128 G2|bn128 G1, sparse|bn128 G2, sparse|" +
		"bn128 G1, tables|bn128 G2, tables|bn128 G1, sparse, tables|bn128 G2, sparse, tables"
	if got := strings.Join(kernels, "|"); got != want {
		t.Errorf("measured %s", got)
	}
	batches := map[string][]int{}
	for _, p := range report.Proofs {
		batches[p.Circuit] = append(batches[p.Circuit], p.Batch)
		if p.Rate <= 0 || p.Floor <= 0 || p.Sums <= 0 {
			t.Errorf("%+v", p)
		}
	}
	for _, name := range []string{"bn128 proof 2^2", "bn128 proof, sparse 2^2"} {
		if b := batches[name]; len(batches) != 2 || len(b) != 2 || b[0] != 1 || b[1] <= 1 {
			t.Errorf("proofs %v", batches)
		}
	}
	if len(report.Skipped) != 0 {
		t.Errorf("skipped %q", report.Skipped)
	}
}

// Without time everything is skipped, aloud; the table has what there is.
func TestBenchKernelsWithoutTime(t *testing.T) {
	o := pinion(t, []string{"PINION_CUDA_LIB=" + softwareLibrary(t)}, "bench", "kernels", "--curve", "bls12381", "--only", "ntt", "--from", "4", "--to", "4", "--repetitions", "1", "--budget", "1ns")
	out := must(t, o)
	skipped := "bls12381 NTT down 2^4: no time is left"
	if !strings.Contains(o.stderr, "skipped: "+skipped+"\n") || !strings.Contains(out, "\nSkipped: "+skipped+".\n") {
		t.Errorf("%s%s", o.stderr, out)
	}
	if !strings.HasPrefix(out, "`pinion bench kernels --curve bls12381 ") || !strings.Contains(out, "| bls12381 | ") || strings.Contains(out, "transforms") {
		t.Error(out)
	}
}

func TestBenchKernelsRefuses(t *testing.T) {
	for _, test := range []struct {
		env, arg, want string
		code           int
	}{
		{"PINION_DEVICE=cpu", "", "pinion: PINION_DEVICE=cpu is no CUDA device, which is what is measured: set it to cuda:N\n", exitUsage},
		{"PINION_CUDA_LIB=/nowhere.so", "", "pinion: cuda:0: no CUDA library: stat /nowhere.so: no such file or directory; make cuda builds it, and PINION_CUDA_LIB says where it is\n", exitInput},
		{"", "--from=9 --to=8", "pinion: sizes from 2^9 to 2^8, expected a range within 2^1 to 2^27\n", exitUsage},
		{"", "--to=28", "pinion: sizes from 2^13 to 2^28, expected a range within 2^1 to 2^27\n", exitUsage},
		{"", "--repetitions=0", "pinion: 0 repetitions, expected 1 to 1000\n", exitUsage},
		{"", "--only=nothing", `pinion: --only must be one of "ntt","msm","proofs" but got "nothing"` + "\n", exitUsage},
		{"", "--curve=bn254", `pinion: --curve must be one of "bn128","bls12381" but got "bn254"` + "\n", exitUsage},
	} {
		o := pinion(t, strings.Fields(test.env), append([]string{"bench", "kernels"}, strings.Fields(test.arg)...)...)
		if o.code != test.code || o.stderr != test.want {
			t.Errorf("%s %s: exit code %d, %s", test.env, test.arg, o.code, o.stderr)
		}
	}
	library := softwareLibrary(t)
	o := pinion(t, []string{"PINION_CUDA_LIB=" + library, "PINION_DEVICE=cuda:7"}, "bench", "kernels")
	if want := "pinion: cuda:7: no such CUDA device: there are 1; nvidia-smi lists the devices, and PINION_DEVICE=cuda:N chooses one\n"; o.code != exitUnavailable || o.stderr != want {
		t.Errorf("exit code %d, %s", o.code, o.stderr)
	}
}

// Floors by hand.
func TestFloors(t *testing.T) {
	near := func(got, want float64) bool { return math.Abs(got/want-1) < 1e-9 }
	// 2^20 scalars of 254 bits: windows of 17 bits are best, 15 of them with 2^16 buckets each.
	digits := float64(1<<20) * 15 * (1 - 1.0/(1<<17))
	if got, want := sumAdditions(groth16.BN254, mixOf(1<<20, 0), 1), digits+2*15*(1<<16); !near(got, want) {
		t.Errorf("%.0f additions, want %.0f", got, want)
	}
	// With all tables windows of 20 bits are: 13 of them, and one set of buckets.
	digits = float64(1<<20) * 13 * (1 - 1.0/(1<<20))
	if got, want := sumAdditions(groth16.BN254, mixOf(1<<20, 0), anyTables), digits+2*(1<<19); !near(got, want) {
		t.Errorf("%.0f additions with tables, want %.0f", got, want)
	}
	if mix := mixOf(2000, 850); mix != (scalarMix{full: 300, ones: 850}) {
		t.Errorf("%+v", mix)
	}
	rates := benchRates{Multiplications: 1e9, G1: 2e9, G2: 1e9}
	if got := rates.transforms(6, 10); got != 6*5*1024*time.Nanosecond {
		t.Errorf("transforms %v", got)
	}
	mix := scalarMix{ones: 4000}
	if one, two := rates.sum(groth16.BLS12381, groth16.G1, mix, 1), rates.sum(groth16.BLS12381, groth16.G2, mix, 1); 2*one != two || one < 2*time.Microsecond {
		t.Errorf("%v in G1, %v in G2", one, two)
	}
}

func TestMilliseconds(t *testing.T) {
	for ms, want := range map[milliseconds]string{0.0123: "0.012", 0.5: "0.500", 5.678: "5.68", 56.78: "56.8", 567.8: "568", 12345: "12345"} {
		if ms.String() != want {
			t.Errorf("%s, want %s", ms, want)
		}
	}
}

func TestMarkdown(t *testing.T) {
	var text strings.Builder
	markdown{{"a", "long"}, {"four", "b"}}.write(&text)
	if want := "| a    | long |\n|------|------|\n| four | b    |\n"; text.String() != want {
		t.Errorf("\n%s", text.String())
	}
}
