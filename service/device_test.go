package service

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pinion-zk/pinion/gpu"
	"github.com/pinion-zk/pinion/pool"
)

// open opens the configured device and returns the line that it logs.
func open(t *testing.T, device, library string) (gpu.Device, pool.Allocator, string, error) {
	t.Helper()
	var lines bytes.Buffer
	c := &Config{Device: device, CUDALib: library}
	d, memory, err := c.openDevice(slog.New(slog.NewTextHandler(&lines, nil)))
	if n := strings.Count(lines.String(), "\n"); err == nil && n != 1 {
		t.Errorf("%d lines are logged, expected one", n)
	}
	return d, memory, lines.String(), err
}

func TestDeviceWithoutCUDA(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "libmissing.so")
	const reason = "cuda:0: no CUDA library: stat "
	for device, why := range map[string]string{
		"auto": `why="chosen by PINION_DEVICE=auto: ` + reason + missing + `: no such file or directory"`,
		"cpu":  "why=configured",
	} {
		d, memory, line, err := open(t, device, missing)
		if err != nil {
			t.Fatal(err)
		}
		if d.Info().Kind != gpu.CPU || memory != (pool.HugePages{}) || !strings.Contains(line, why) {
			t.Errorf("%s: %v, %v, %s", device, d.Info(), memory, line)
		}
	}
	// P6, P7: a device that was asked for is used, or nothing is.
	_, _, _, err := open(t, "cuda:0", missing)
	if want := "PINION_DEVICE: " + reason + missing + ": no such file or directory"; err == nil || err.Error() != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}
	if !errors.Is(err, gpu.ErrNoLibrary) {
		t.Error("it isn't ErrNoLibrary")
	}
}

func TestDeviceFromLibrary(t *testing.T) {
	library := filepath.Join("..", "build", "libpinion_software.so")
	if _, err := os.Stat(library); err != nil {
		t.Skip("make cuda-software builds the library: ", err)
	}
	for device, why := range map[string]string{
		"auto":   `why="chosen by PINION_DEVICE=auto: the first CUDA device"`,
		"cuda:0": "why=configured",
	} {
		d, memory, line, err := open(t, device, library)
		if err != nil {
			t.Fatal(err)
		}
		if _, pinned := memory.(*gpu.Pinned); d.Info().Kind != gpu.CUDA || !pinned || !strings.Contains(line, why) {
			t.Errorf("%s: %v, %T, %s", device, d.Info(), memory, line)
		}
		// P1: a card has one user, and auto doesn't step aside from it in silence.
		for _, second := range []string{"auto", "cuda:0"} {
			if _, _, _, err := open(t, second, library); !errors.Is(err, gpu.ErrInUse) {
				t.Errorf("opened again by %s: %v", second, err)
			}
		}
		if _, _, _, err := open(t, "cuda:99", library); !errors.Is(err, gpu.ErrNoCard) {
			t.Errorf("card 99: %v", err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
