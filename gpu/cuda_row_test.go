package gpu

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/pinion-zk/pinion/examples/circuits"
	"github.com/pinion-zk/pinion/groth16"
)

// software says that the card is the software device, which is slow: tests of many proofs make few.
func (r *rig) software() bool { return strings.HasPrefix(r.Info().Name, "software") }

// Ten thousand proofs in a row, of as many witnesses, each verified: neither the card's memory nor the host's grows.
func TestCUDAInARow(t *testing.T) {
	r := newRig(t)
	x := openExample(t, "multiplier", "bn128")
	key := r.load(x)
	defer r.unload(key)
	total := 10_000
	if r.software() {
		total = 20
	}
	prove := func(from, to int) {
		const producers = 4
		var jobs sync.WaitGroup
		for first := range producers {
			jobs.Go(func() {
				for n := from + first; n < to && !t.Failed(); n += producers {
					witness := product(uint64(n)+2, uint64(total))
					proofs, err := r.prove(key, witness)
					if err != nil {
						t.Error(err)
						return
					}
					x.verifyEach(t, proofs, [][]byte{witness})
				}
			})
		}
		jobs.Wait()
	}
	measure := func() (used, resident int64) {
		debug.FreeOSMemory()
		return usedBy(t, r.card), residentBytes(t)
	}
	prove(0, total/5)
	used, resident := measure()
	prove(total/5, total)
	usedNow, residentNow := measure()
	t.Logf("after %d proofs %d bytes of the card and %d of the host, after %d proofs %d and %d",
		total/5, used, resident, total, usedNow, residentNow)
	if usedNow != used {
		t.Errorf("%d bytes of the card after %d proofs, %d after %d", used, total/5, usedNow, total)
	}
	if residentNow > resident+8<<20 {
		t.Errorf("%d bytes resident after %d proofs, %d after %d", resident, total/5, residentNow, total)
	}
}

// Circuits that others published: PINION_INTEROP is a folder of folders with circuit.zkey, witness.wtns and the verification key of
// snarkjs, as scripts/gpu-interop.sh makes them. The proofs stay there, for snarkjs to verify.
func TestCUDAInterop(t *testing.T) {
	all := os.Getenv("PINION_INTEROP")
	if all == "" {
		t.Skip("PINION_INTEROP names no folder of published circuits: scripts/gpu-interop.sh makes one")
	}
	keys, err := filepath.Glob(filepath.Join(all, "*", circuits.Zkey))
	if err != nil || len(keys) == 0 {
		t.Fatalf("no */%s in %s: %v", circuits.Zkey, all, err)
	}
	r := newRig(t)
	for _, zkey := range keys {
		dir := filepath.Dir(zkey)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			x := openFiles(t, dir)
			sameKey(t, x.VerifyingKey(), filepath.Join(dir, circuits.VerificationKey))
			key := r.load(x)
			defer r.unload(key)
			for _, k := range []int{3, 1} {
				witnesses := make([][]byte, k)
				for i := range witnesses {
					witnesses[i] = x.witness
				}
				proofs, err := r.prove(key, witnesses...)
				if err != nil {
					t.Fatalf("%d witnesses: %v", k, err)
				}
				x.verifyEach(t, proofs, witnesses)
				writeJSON(t, filepath.Join(dir, circuits.Proof), proofs[0])
			}
			writeJSON(t, filepath.Join(dir, circuits.Public), groth16.PublicFromWitness(x.witness, x.ProvingKey().Public))
		})
	}
}

// sameKey expects that the file has vk.
func sameKey(t *testing.T, vk *groth16.VerifyingKey, path string) {
	t.Helper()
	var other groth16.VerifyingKey
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &other)
	}
	if err != nil {
		t.Fatal(err)
	}
	ours, err := json.Marshal(vk)
	if err != nil {
		t.Fatal(err)
	}
	if theirs, err := json.Marshal(&other); err != nil || !bytes.Equal(ours, theirs) {
		t.Errorf("the verification key of %s isn't the zkey's: %v", path, err)
	}
}

func writeJSON(t *testing.T, path string, v any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
