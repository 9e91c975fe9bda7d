package circuit

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	circuits "github.com/pinion-zk/pinion/examples/circuits"
)

func newCatalogue(t testing.TB) *Catalogue {
	t.Helper()
	c, err := OpenCatalogue(filepath.Join(t.TempDir(), "circuits"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// exampleFiles writes the files of an example circuit.
func exampleFiles(t testing.TB, name, curve string) Files {
	t.Helper()
	dir := t.TempDir()
	if err := circuits.Extract(dir, name, curve); err != nil {
		t.Fatal(err)
	}
	return Files{Zkey: filepath.Join(dir, circuits.Zkey), Wasm: filepath.Join(dir, circuits.Wasm), R1CS: filepath.Join(dir, circuits.R1CS)}
}

func edgeFiles(name string) Files {
	path := func(ext string) string { return filepath.Join("testdata", "edge", name+ext) }
	return Files{Zkey: path(".zkey"), Wasm: path(".wasm"), R1CS: path(".r1cs")}
}

func mustAdd(t testing.TB, c *Catalogue, name string, files Files) *Info {
	t.Helper()
	info, err := c.Add(context.Background(), name, files, nil)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func names(infos []Info) []string {
	var names []string
	for _, i := range infos {
		names = append(names, i.Name)
	}
	return names
}

func TestCatalogue(t *testing.T) {
	ctx, c := context.Background(), newCatalogue(t)
	for _, curve := range circuits.Curves {
		info := mustAdd(t, c, "mult-"+curve, exampleFiles(t, "multiplier", curve))
		if info.Curve.String() != curve || !info.HasWasm || !info.HasR1CS || info.Forgeable || info.Bytes == 0 || info.Contributions == 0 {
			t.Errorf("found %+v", info)
		}
		again, err := c.Info(info.Ref())
		if err != nil || *again != *info {
			t.Errorf("found %+v, expected %+v, %v", again, info, err)
		}
		if err := c.Check(ctx, Ref{Name: info.Name}, nil); err != nil {
			t.Error(err)
		}
		circuit, err := c.Open(info.Ref())
		if err != nil {
			t.Fatal(err)
		}
		if circuit.Info != *info || circuit.Key().Vars != info.Vars || circuit.R1CS().Constraints != info.Constraints || circuit.MappedBytes() != info.Bytes {
			t.Errorf("opened %+v, expected %+v", circuit.Info, info)
		}
		// The verifying key that is exported is the one that snarkjs exported.
		var ours, theirs map[string]any
		text, err := os.ReadFile(c.path(info.Name, verifyingKeyFile))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(json.Unmarshal(text, &ours), json.Unmarshal(example(t, "multiplier", curve, circuits.VerificationKey), &theirs)); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(ours) != fmt.Sprint(theirs) {
			t.Errorf("exported %v\nexpected %v", ours, theirs)
		}
		// Removed, the open circuit still works.
		if err := c.Remove(Ref{Name: info.Name}); err != nil {
			t.Fatal(err)
		}
		if err := circuit.key.Verify(ctx, nil); err != nil {
			t.Error(err)
		}
		if err := circuit.Close(); err != nil {
			t.Error(err)
		}
		if _, err := c.Open(info.Ref()); !errors.Is(err, ErrUnknownCircuit) {
			t.Errorf("removed: found %v", err)
		}
	}
	if left, _ := filepath.Glob(c.path(".scratch-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// C8: a forgeable key is marked.
func TestC8ForgeableKeyIsMarked(t *testing.T) {
	c := newCatalogue(t)
	path := store(t, "forgeable.zkey", example(t, "multiplier", "bn128", circuits.Forgeable))
	if info := mustAdd(t, c, "f", Files{Zkey: path}); !info.Forgeable || info.HasWasm || info.HasR1CS {
		t.Errorf("found %+v", info)
	}
	circuit, err := c.Open(Ref{Name: "f"})
	if err != nil {
		t.Fatal(err)
	}
	defer circuit.Close()
	if !circuit.Forgeable || circuit.R1CS() != nil {
		t.Errorf("found %+v", circuit.Info)
	}
	_, err = circuit.Calculator(context.Background())
	wantError(t, err, "circuit f: the circuit has no witness calculator (wasm)")
	if !errors.Is(err, ErrNoCalculator) {
		t.Error("not ErrNoCalculator")
	}
}

func TestAddRefuses(t *testing.T) {
	c := newCatalogue(t)
	mul := edgeFiles("mul")
	mustAdd(t, c, "there", Files{Zkey: mul.Zkey})
	bls := exampleFiles(t, "multiplier", "bls12381")
	for _, x := range []struct {
		name, circuit string
		files         Files
		want          string
	}{
		{"name", "a/b", mul, `circuit name "a/b": expected 1 to 64 of A-Z, a-z, 0-9, _ and -`},
		{"empty name", "", mul, `circuit name "": expected 1 to 64 of A-Z, a-z, 0-9, _ and -`},
		{"name is a path", "..", mul, `circuit name "..": expected 1 to 64 of A-Z, a-z, 0-9, _ and -`},
		{"long name", strings.Repeat("a", 65), mul, `circuit name "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": expected 1 to 64 of A-Z, a-z, 0-9, _ and -`},
		{"taken", "there", mul, `circuit there: a circuit of this name is there already: remove it first`},
		{"no key", "x", Files{Zkey: "testdata/none.zkey"}, `circuit x: open testdata/none.zkey: no such file or directory`},
		{"no key given", "x", Files{}, `circuit x: no zkey given`},
		{"a directory", "x", Files{Zkey: "testdata"}, `circuit x: testdata: not a regular file`},
		{"a witness", "x", Files{Zkey: "testdata/edge/mul.wtns"}, `circuit x: mul.wtns: at byte 0: found magic "wtns", expected "zkey"`},
		{"r1cs of another circuit", "x", Files{Zkey: mul.Zkey, R1CS: "testdata/edge/nopub.r1cs"}, `circuit x: nopub.r1cs: section 1 at byte 192: found 3 wires, expected 4 as in the key`},
		{"r1cs of the same shape", "x", Files{Zkey: mul.Zkey, R1CS: "testdata/edge/lin.r1cs"}, `circuit x: lin.r1cs: section 2 at byte 24: found constraint 0 with another A, expected that of the key`},
		{"r1cs of another curve", "x", Files{Zkey: mul.Zkey, R1CS: bls.R1CS}, `circuit x: circuit.r1cs: section 1 at byte 160: found the prime of bls12381, expected the prime of bn128 as in the key`},
		{"wasm of another circuit", "x", Files{Zkey: mul.Zkey, Wasm: "testdata/edge/nopub2.wasm"}, `circuit x: nopub2.wasm: found a calculator of 23 wires on bn128, expected 4 wires on bn128 as in the key`},
		{"wasm of another curve", "x", Files{Zkey: mul.Zkey, Wasm: bls.Wasm}, `circuit x: circuit.wasm: found a calculator of 4 wires on bls12381, expected 4 wires on bn128 as in the key`},
	} {
		t.Run(x.name, func(t *testing.T) {
			_, err := c.Add(context.Background(), x.circuit, x.files, nil)
			wantError(t, err, x.want)
		})
	}
	if infos, err := c.List(); err != nil || !slices.Equal(names(infos), []string{"there"}) {
		t.Errorf("list: %v, %v", names(infos), err)
	}
}

func TestUnknownCircuitAndWrongDigest(t *testing.T) {
	c := newCatalogue(t)
	info := mustAdd(t, c, "mul", Files{Zkey: edgeFiles("mul").Zkey})
	_, err := c.Open(Ref{Name: "nul"})
	wantError(t, err, "circuit nul: unknown circuit")
	if !errors.Is(err, ErrUnknownCircuit) {
		t.Error("not ErrUnknownCircuit")
	}
	other := info.Digest
	other[0] ^= 1
	_, err = c.Open(Ref{"mul", other})
	wantError(t, err, fmt.Sprintf("circuit mul: the circuit has another digest: found %v, expected %v", info.Digest, other))
	if !errors.Is(err, ErrDigestMismatch) {
		t.Error("not ErrDigestMismatch")
	}
	wantError(t, c.Remove(Ref{Name: "nul"}), "circuit nul: unknown circuit")
	wantError(t, c.Remove(Ref{Name: "../x"}), `circuit name "../x": expected 1 to 64 of A-Z, a-z, 0-9, _ and -`)
}

// A broken entry is reported and hides no other.
func TestBrokenEntries(t *testing.T) {
	c := newCatalogue(t)
	for _, name := range []string{"a", "b", "c", "d", "e", "good"} {
		mustAdd(t, c, name, Files{Zkey: edgeFiles("mul").Zkey})
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Remove(c.path("a", infoFile)))
	must(os.WriteFile(c.path("b", infoFile), []byte("{"), 0o644))
	must(os.Rename(c.path("c"), c.path("renamed")))
	must(os.Remove(c.path("d", keyFile)))
	must(os.Mkdir(c.path("lost+found"), 0o755))
	must(os.WriteFile(c.path("README"), nil, 0o644))
	text, err := os.ReadFile(c.path("e", infoFile))
	must(err)
	must(os.WriteFile(c.path("e", infoFile), []byte(strings.Replace(string(text), `"vars": 4`, `"vars": 5`, 1)), 0o644))

	infos, err := c.List()
	if want := []string{"d", "e", "good"}; !slices.Equal(names(infos), want) {
		t.Errorf("list: %v, expected %v", names(infos), want)
	}
	wantError(t, relative(c, err), "circuit a: open circuit.json: no such file or directory\n"+
		"circuit b: circuit.json: unexpected end of JSON input\n"+
		"circuit renamed: circuit.json: found name \"c\", expected that of its folder")
	_, err = c.Open(Ref{Name: "d"})
	wantError(t, relative(c, err), "circuit d: open key.pinion: no such file or directory")
	_, err = c.Open(Ref{Name: "e"})
	wantError(t, err, "circuit e: circuit.json: found the description of another key than key.pinion")
	// Broken ones can be removed.
	must(c.Remove(Ref{Name: "b"}))
}

// relative takes the directories out of an error.
func relative(c *Catalogue, err error) error {
	if err == nil {
		return nil
	}
	s := err.Error()
	for _, name := range []string{"a", "b", "d"} {
		s = strings.ReplaceAll(s, c.path(name)+"/", "")
	}
	return errors.New(s)
}

func TestCheckFindsDamage(t *testing.T) {
	c := newCatalogue(t)
	mustAdd(t, c, "m", edgeFiles("mul"))
	check := func() error { return c.Check(context.Background(), Ref{Name: "m"}, nil) }
	if err := check(); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		file string
		at   int64
		want string
	}{
		{keyFile, 40000, `circuit m: m/key.pinion: at byte 8192: found a chunk of checksum c5c8835b, expected f154f028 (the file is damaged: add the circuit again)`},
		{verifyingKeyFile, 200, `circuit m: verification_key.json: found another key than that of key.pinion`},
		{r1csFile, 24, `circuit m: circuit.r1cs: section 2 at byte 24: found 17 terms in the 116 bytes left, expected at most 3`},
		{wasmFile, 3, `circuit m: circuit.wasm: no circom 2 witness calculator: it is no WebAssembly module`},
	} {
		t.Run(x.file, func(t *testing.T) {
			whole, err := os.ReadFile(c.path("m", x.file))
			if err != nil {
				t.Fatal(err)
			}
			broken := slices.Clone(whole)
			broken[x.at] ^= 0x10
			if err := os.WriteFile(c.path("m", x.file), broken, 0o644); err != nil {
				t.Fatal(err)
			}
			wantError(t, check(), x.want)
			if err := os.WriteFile(c.path("m", x.file), whole, 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Of many that add the same name one succeeds, and many that add others do not disturb each other. A lock belongs to an open file,
// so goroutines stand for processes here.
func TestAddConcurrently(t *testing.T) {
	dir := newCatalogue(t).Dir()
	var added atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			c, err := OpenCatalogue(dir)
			if err != nil {
				t.Error(err)
				return
			}
			switch _, err := c.Add(context.Background(), "same", edgeFiles("mul"), nil); {
			case err == nil:
				added.Add(1)
			case !errors.Is(err, ErrExists):
				t.Error(err)
			}
			own := fmt.Sprintf("own-%d", i)
			if _, err := c.Add(context.Background(), own, edgeFiles("lin"), nil); err != nil {
				t.Error(err)
			}
			if i%2 == 0 {
				if err := c.Remove(Ref{Name: own}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	c, _ := OpenCatalogue(dir)
	infos, err := c.List()
	if want := []string{"own-1", "own-3", "own-5", "own-7", "same"}; err != nil || added.Load() != 1 || !slices.Equal(names(infos), want) {
		t.Errorf("%d added, list %v, %v", added.Load(), names(infos), err)
	}
}

// A process that is killed while it adds a circuit leaves none, and the next Add clears its folder away. One that lives is left alone.
func TestAddKilled(t *testing.T) {
	c := newCatalogue(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestAddUntilKilled$")
	cmd.Env = append(os.Environ(), "CATALOGUE_OF_VICTIM="+c.Dir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	reached := false
	for lines := bufio.NewScanner(out); !reached && lines.Scan(); {
		reached = lines.Text() == "in the middle"
	}
	if !reached {
		t.Fatal("the process did not come to adding:", cmd.Wait())
	}
	scratch := func() int {
		dirs, _ := filepath.Glob(c.path(".scratch-*"))
		return len(dirs)
	}
	mustAdd(t, c, "other", Files{Zkey: edgeFiles("mul").Zkey})
	if n := scratch(); n != 1 {
		t.Errorf("%d scratch folders while the other process lives, expected 1", n)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	if infos, err := c.List(); err != nil || !slices.Equal(names(infos), []string{"other"}) {
		t.Errorf("list: %v, %v", names(infos), err)
	}
	mustAdd(t, c, "victim", Files{Zkey: edgeFiles("mul").Zkey})
	if n := scratch(); n != 0 {
		t.Errorf("%d scratch folders, expected none", n)
	}
}

// TestAddUntilKilled is the process that TestAddKilled kills.
func TestAddUntilKilled(t *testing.T) {
	dir := os.Getenv("CATALOGUE_OF_VICTIM")
	if dir == "" {
		t.Skip("not started by TestAddKilled")
	}
	c, err := OpenCatalogue(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = c.Add(context.Background(), "victim", Files{Zkey: edgeFiles("mul").Zkey}, func(stage string, _, _ int64) {
		if stage == "checksums" {
			fmt.Println("in the middle")
			_, _ = io.ReadAll(os.Stdin) // until killed
		}
	})
}

func TestRef(t *testing.T) {
	digest := strings.Repeat("0a", 32)
	for _, x := range []struct{ text, want string }{
		{"merkle", ""},
		{"merkle@" + digest, ""},
		{"", `circuit name "": expected 1 to 64 of A-Z, a-z, 0-9, _ and -`},
		{"a.b", `circuit name "a.b": expected 1 to 64 of A-Z, a-z, 0-9, _ and -`},
		{"merkle@", `circuit merkle: digest "": expected 64 lower-case hexadecimal digits`},
		{"merkle@" + strings.ToUpper(digest), `circuit merkle: digest "` + strings.ToUpper(digest) + `": expected 64 lower-case hexadecimal digits`},
		{"merkle@" + digest + "0", `circuit merkle: digest "` + digest + `0": expected 64 lower-case hexadecimal digits`},
		{"merkle@" + strings.Repeat("0", 64), `circuit merkle: digest is all zero`},
	} {
		r, err := ParseRef(x.text)
		wantError(t, err, x.want)
		if err == nil && r.String() != x.text {
			t.Errorf("%q became %q", x.text, r)
		}
	}
}
