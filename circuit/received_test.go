package circuit

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// incomingFiles are the files of a circuit as they would come from elsewhere.
func incomingFiles(t testing.TB, c *Catalogue, ref Ref) []Incoming {
	t.Helper()
	opened, err := c.Open(ref)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	var files []Incoming
	for _, path := range opened.Files() {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, incomingBytes(filepath.Base(path), data))
	}
	return files
}

func incomingBytes(name string, data []byte) Incoming {
	return Incoming{Name: name, Size: int64(len(data)), Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(data)), nil
	}}
}

func data(t testing.TB, f Incoming) []byte {
	t.Helper()
	r, err := f.Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A circuit that was received is the one that was added elsewhere, and several of one name are served side by side.
func TestReceive(t *testing.T) {
	ctx, from, to := context.Background(), newCatalogue(t), newCatalogue(t)
	first := mustAdd(t, from, "c", exampleFiles(t, "multiplier", "bls12381"))
	files := incomingFiles(t, from, first.Ref())
	var stages []string
	got, err := to.Receive(ctx, first.Ref(), files, nil, func(stage string, _, _ int64) {
		if len(stages) == 0 || stages[len(stages)-1] != stage {
			stages = append(stages, stage)
		}
	})
	if err != nil || *got != *first {
		t.Fatalf("received %+v, expected %+v, error %v", got, first, err)
	}
	if want := []string{"download", "checksums", "points", "matrices", "constraints"}; !slices.Equal(stages, want) {
		t.Errorf("stages %v, expected %v", stages, want)
	}
	for _, file := range []string{infoFile, keyFile, verifyingKeyFile, wasmFile, r1csFile} {
		ours, err := os.ReadFile(to.path(first.Ref().String(), file))
		theirs, other := os.ReadFile(from.path("c", file))
		if err != nil || other != nil || !bytes.Equal(ours, theirs) {
			t.Errorf("%s differs: %v, %v", file, err, other)
		}
	}
	if err := to.Check(ctx, first.Ref(), nil); err != nil {
		t.Error(err)
	}
	if _, err := to.Receive(ctx, first.Ref(), files, nil, nil); !errors.Is(err, ErrExists) {
		t.Errorf("again: %v", err)
	}
	if info, err := to.Info(Ref{Name: "c"}); err != nil || info.Digest != first.Digest {
		t.Errorf("by its name: %+v, %v", info, err)
	}

	if err := from.Remove(Ref{Name: "c"}); err != nil {
		t.Fatal(err)
	}
	second := mustAdd(t, from, "c", edgeFiles("mul"))
	if _, err := to.Receive(ctx, second.Ref(), incomingFiles(t, from, second.Ref()), nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []*Info{first, second} {
		opened, err := to.Open(want.Ref())
		if err != nil || opened.Info != *want {
			t.Fatalf("opened %+v, expected %+v, error %v", opened, want, err)
		}
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	}
	_, err = to.Info(Ref{Name: "c"})
	wantError(t, err, "circuit c: the name means several circuits, so it needs a digest: 2 of them were pulled")
	if !errors.Is(err, ErrAmbiguous) {
		t.Error("not ErrAmbiguous")
	}
	// What is added under the name goes first, and hides none.
	added := mustAdd(t, to, "c", edgeFiles("lin"))
	if info, err := to.Info(Ref{Name: "c"}); err != nil || info.Digest != added.Digest {
		t.Errorf("by its name: %+v, %v", info, err)
	}
	if infos, err := to.List(); err != nil || len(infos) != 1 || infos[0] != *added {
		t.Errorf("added: %+v, %v", infos, err)
	}
	if infos, err := to.Received(); err != nil || len(infos) != 2 {
		t.Errorf("received: %+v, %v", infos, err)
	}
	if err := to.Remove(first.Ref()); err != nil {
		t.Error(err)
	}
	if _, err := to.Info(first.Ref()); !errors.Is(err, ErrDigestMismatch) {
		t.Errorf("removed: %v", err)
	}
	if _, err := to.Info(second.Ref()); err != nil {
		t.Error(err)
	}
}

// A circuit whose folder is broken is received again, and one that was added under its name and is broken hides none.
func TestReceiveMends(t *testing.T) {
	ctx, from, to := context.Background(), newCatalogue(t), newCatalogue(t)
	ref := mustAdd(t, from, "c", Files{Zkey: edgeFiles("mul").Zkey}).Ref()
	mustAdd(t, to, "c", Files{Zkey: edgeFiles("lin").Zkey})
	files := incomingFiles(t, from, ref)
	if _, err := to.Receive(ctx, ref, files, nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, broken := range []string{ref.String(), "c"} {
		if err := os.WriteFile(to.path(broken, infoFile), []byte("{"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := to.Receive(ctx, ref, files, nil, nil); err != nil && !errors.Is(err, ErrExists) {
			t.Fatal(err)
		}
		if _, err := to.Info(ref); err != nil {
			t.Errorf("%s was broken: %v", broken, err)
		}
	}
}

// A key is mapped for its checks once there is room for it, and no longer.
func TestReceiveAsksForRoom(t *testing.T) {
	from := newCatalogue(t)
	info := mustAdd(t, from, "c", Files{Zkey: edgeFiles("mul").Zkey})
	files := incomingFiles(t, from, info.Ref())
	var held int64
	room := func(_ context.Context, n int64) (func(), error) {
		held += n
		return func() { held -= n }, nil
	}
	to := newCatalogue(t)
	_, err := to.Receive(context.Background(), info.Ref(), files, room, func(stage string, _, _ int64) {
		if want := info.Bytes; stage != "download" && held != want || stage == "download" && held != 0 {
			t.Errorf("%s: room for %d bytes, %d are mapped", stage, held, want)
		}
	})
	if err != nil || held != 0 {
		t.Errorf("%d bytes held, error %v", held, err)
	}
	none := errors.New("no room")
	refuse := func(context.Context, int64) (func(), error) { return nil, none }
	to = newCatalogue(t)
	if _, err := to.Receive(context.Background(), info.Ref(), files, refuse, nil); !errors.Is(err, none) {
		t.Errorf("found %v", err)
	}
	leavesNothing(t, to)
}

// One goroutine or process at a time receives a circuit; others are told, and other circuits go on.
func TestReceiveOnce(t *testing.T) {
	ctx, from := context.Background(), newCatalogue(t)
	slow := mustAdd(t, from, "slow", Files{Zkey: edgeFiles("mul").Zkey}).Ref()
	other := mustAdd(t, from, "other", Files{Zkey: edgeFiles("lin").Zkey}).Ref()
	dir := newCatalogue(t).Dir()
	open := func() *Catalogue { // as another process would
		c, err := OpenCatalogue(dir)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	files := incomingFiles(t, from, slow)
	begun, goOn := make(chan struct{}), make(chan struct{})
	held := slices.Clone(files)
	held[0].Open = func(ctx context.Context) (io.ReadCloser, error) {
		close(begun)
		<-goOn
		return files[0].Open(ctx)
	}
	done := make(chan error, 1)
	go func() {
		_, err := open().Receive(ctx, slow, held, nil, nil)
		done <- err
	}()
	<-begun
	if _, err := open().Receive(ctx, slow, files, nil, nil); !errors.Is(err, ErrBusy) {
		t.Errorf("at the same time: %v, expected ErrBusy", err)
	}
	if _, err := open().Receive(ctx, other, incomingFiles(t, from, other), nil, nil); err != nil {
		t.Errorf("another circuit: %v", err)
	}
	if _, err := open().Info(slow); !errors.Is(err, ErrUnknownCircuit) {
		t.Errorf("half of it is there: %v", err)
	}
	close(goOn)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if _, err := open().Receive(ctx, slow, files, nil, nil); !errors.Is(err, ErrExists) {
		t.Errorf("afterwards: %v, expected ErrExists", err)
	}
}

// sealed changes a prepared file and makes its checksums right again: as somebody would who means harm.
func sealed(t testing.TB, file []byte, change func(b []byte, h *preparedHeader, l layout)) []byte {
	t.Helper()
	b := bytes.Clone(file)
	var h preparedHeader
	if err := h.decode("key", b[:pageBytes]); err != nil {
		t.Fatal(err)
	}
	l := h.layout()
	change(b, &h, l)
	for i := range chunks(l.data.len()) {
		lo := l.data.lo + i*chunkBytes
		binary.LittleEndian.PutUint32(b[l.checksums.lo+4*i:], crc32.Checksum(b[lo:min(lo+chunkBytes, l.data.hi)], castagnoli))
	}
	h.checksums = crc32.Checksum(b[l.checksums.lo:l.checksums.hi], castagnoli)
	copy(b, h.encode())
	return b
}

// What comes from elsewhere is refused unless an import would have made it, and leaves nothing behind.
func TestReceiveRefuses(t *testing.T) {
	from := newCatalogue(t)
	info := mustAdd(t, from, "c", edgeFiles("mul"))
	good := incomingFiles(t, from, info.Ref())
	key := data(t, good[0])
	other := mustAdd(t, from, "other", edgeFiles("nopub2"))
	others := incomingFiles(t, from, other.Ref())
	bad := errors.New("line cut")

	with := func(i int, f Incoming) []Incoming {
		files := slices.Clone(good)
		files[i] = f
		return files
	}
	short, long, huge, failing := good[1], good[1], good[1], good[1]
	short.Size++
	long.Size--
	huge.Size = 1 << 60
	failing.Open = func(context.Context) (io.ReadCloser, error) { return io.NopCloser(&brokenReader{bad}), nil }
	change := func(change func(b []byte, h *preparedHeader, l layout)) []Incoming {
		return with(0, incomingBytes(keyFile, sealed(t, key, change)))
	}
	word := func(p part, i int64, v uint32) []Incoming {
		return change(func(b []byte, _ *preparedHeader, l layout) { binary.LittleEndian.PutUint32(b[l.parts[p].lo+4*i:], v) })
	}
	zero := func(p part, at, n int64) []Incoming {
		return change(func(b []byte, _ *preparedHeader, l layout) { clear(b[l.parts[p].lo+at : l.parts[p].lo+at+n]) })
	}
	flip := func(p part, at int64) []Incoming {
		return change(func(b []byte, _ *preparedHeader, l layout) { b[l.parts[p].lo+at] ^= 1 })
	}
	otherDigest := info.Ref()
	otherDigest.Digest[0] ^= 1
	for _, x := range []struct {
		name  string
		ref   Ref
		files []Incoming
		want  string
	}{
		{"no digest", Ref{Name: "c"}, good, `circuit c: expected a digest with the name`},
		{"a path for a name", Ref{"../c", info.Digest}, good, `circuit name "../c": expected 1 to 64 of A-Z, a-z, 0-9, _ and -`},
		{"no key", info.Ref(), good[1:], `circuit c: found no key.pinion`},
		{"an unknown file", info.Ref(), append(good[:1:1], incomingBytes("../../x", nil)), `circuit c: found a file "../../x", expected key.pinion, circuit.wasm and circuit.r1cs, each once`},
		{"a file twice", info.Ref(), append(good[:1:1], good[0]), `circuit c: found a file "key.pinion", expected key.pinion, circuit.wasm and circuit.r1cs, each once`},
		{"too short", info.Ref(), with(1, short), fmt.Sprintf(`circuit c: circuit.wasm: found %d bytes, expected %d`, good[1].Size, good[1].Size+1)},
		{"too long", info.Ref(), with(1, long), fmt.Sprintf(`circuit c: circuit.wasm: found more than the %d bytes expected`, good[1].Size-1)},
		{"read fails", info.Ref(), with(1, failing), `circuit c: circuit.wasm: line cut`},
		{"another digest", otherDigest, good, fmt.Sprintf(`circuit c: entry/key.pinion: at byte 0: found the key of zkey %s, expected %s`, info.Digest, otherDigest.Digest)},
		{"no prepared file", info.Ref(), with(0, incomingBytes(keyFile, bytes.Repeat([]byte("x"), pageBytes))), `circuit c: entry/key.pinion: at byte 0: found magic "xxxxxxxx", expected "pinionPK"`},
		{"a byte changed", info.Ref(), with(0, incomingBytes(keyFile, append(bytes.Clone(key[:len(key)-1]), 1))), `circuit c: entry/key.pinion: at byte 8192: found a chunk of checksum`},
		{"alpha off the curve", info.Ref(), flip(partSingle, 0), `verifying key: alpha1, point 0: not on the curve`},
		{"beta1 off the curve", info.Ref(), flip(partSingle, int64(info.Curve.G1Size())), `found single point 1 of G1: not on the curve`},
		{"A off the curve", info.Ref(), flip(partA, 0), `found point 0 of A: not on the curve`},
		{"B2 off the curve", info.Ref(), flip(partB2, 0), `of B2: not on the curve`},
		{"H at infinity", info.Ref(), zero(partH, 0, int64(info.Curve.G1Size())), `found point 0 of H: the infinity, expected a point of G1, not the infinity`},
		{"wire out of range", info.Ref(), word(partColumnsA, 0, 4), `found wire 4, expected less than 4`},
		{"coefficient out of range", info.Ref(), word(partValuesB, 0, 0xffffffff), `found coefficient 4294967295, expected less than 2`},
		{"rows backwards", info.Ref(), word(partStartsA, 1, 0xfffffff0), `found row 2 from entry 2 of 3, expected at least 4294967280`},
		{"a row that binds nothing", info.Ref(), word(partValuesA, 1, 1), `expected only 1 on public wire`},
		{"another 1", info.Ref(), zero(partCoefficients, 0, 32), `found another coefficient 0, expected 1`},
		{"coefficient not reduced", info.Ref(), word(partCoefficients, 15, 0xffffffff), `found coefficient 1: not below the order of the scalar field, expected a reduced one`},
		{"wasm of another circuit", info.Ref(), with(1, others[1]), `circuit c: circuit.wasm: found a calculator of 23 wires on bn128, expected 4 wires on bn128 as in the key`},
		{"constraints of another circuit", info.Ref(), with(2, others[2]), `circuit c: circuit.r1cs: section 1 at byte 2472: found 23 wires, expected 4 as in the key`},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := newCatalogue(t)
			_, err := c.Receive(context.Background(), x.ref, x.files, nil, nil)
			if err == nil || !bytes.Contains([]byte(err.Error()), []byte(x.want)) {
				t.Errorf("error:\n got %v\nwant %s", err, x.want)
			}
			leavesNothing(t, c)
		})
	}
	t.Run("full disk", func(t *testing.T) {
		c := newCatalogue(t)
		_, err := c.Receive(context.Background(), info.Ref(), with(1, huge), nil, nil)
		if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EFBIG) {
			t.Errorf("found %v", err)
		}
		leavesNothing(t, c)
	})
	t.Run("interrupted", func(t *testing.T) {
		c := newCatalogue(t)
		ctx, cancel := context.WithCancel(context.Background())
		_, err := c.Receive(ctx, info.Ref(), good, nil, func(stage string, _, _ int64) {
			if stage == "checksums" {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("found %v", err)
		}
		leavesNothing(t, c)
	})
}

type brokenReader struct{ err error }

func (f *brokenReader) Read([]byte) (int, error) { return 0, f.err }

// leavesNothing checks that a catalogue has no circuit, nor a trace of one.
func leavesNothing(t *testing.T, c *Catalogue) {
	t.Helper()
	entries, err := os.ReadDir(c.Dir())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != ".lock" && e.Name() != ".compiled" {
			t.Errorf("left behind: %s", e.Name())
		}
	}
}

// What is wrong at the end of a large part is found there too.
func TestReceivedIsCheckedToTheEnd(t *testing.T) {
	file, err := os.ReadFile(prepare(t, edge(t, "mul.zkey")))
	if err != nil {
		t.Fatal(err)
	}
	file = stretched(t, file)
	check := func(file []byte) error {
		p := openPrepared(t, store(t, keyFile, file))
		return p.check(context.Background(), p.Digest(), nil)
	}
	if err := check(file); err != nil {
		t.Fatal(err)
	}
	for part, want := range map[part]string{
		partH:       fmt.Sprintf("found point %d of H: ", 2*chunkPoints-1),
		partStartsA: fmt.Sprintf("found row %d from entry ", chunkPoints+100),
	} {
		bad := sealed(t, file, func(b []byte, _ *preparedHeader, l layout) { b[l.parts[part].hi-1] ^= 0x11 })
		if err := check(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %s", err, want)
		}
	}
}

// stretched gives a prepared file empty constraints, until its points of H are checked in two turns.
func stretched(t testing.TB, file []byte) []byte {
	t.Helper()
	var h preparedHeader
	if err := h.decode("key", file[:pageBytes]); err != nil {
		t.Fatal(err)
	}
	long, from := h, h.layout()
	long.rows, long.domain = chunkPoints+100, 2*chunkPoints
	to := long.layout()
	b := make([]byte, to.data.hi)
	copy(b, long.encode())
	for i, e := range from.parts {
		copy(b[to.parts[i].lo:], file[e.lo:e.hi])
	}
	points, all := file[from.parts[partH].lo:from.parts[partH].hi], b[to.parts[partH].lo:to.parts[partH].hi]
	for len(all) > 0 {
		all = all[copy(all, points):]
	}
	constraints := h.rows - h.public - 1
	for _, p := range []part{partStartsA, partStartsB} {
		for row := constraints; row <= long.rows; row++ {
			old := max(constraints, row-(long.rows-h.rows))
			copy(b[to.parts[p].lo+4*int64(row):][:4], file[from.parts[p].lo+4*int64(old):])
		}
	}
	return sealed(t, b, func([]byte, *preparedHeader, layout) {})
}
