package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/queue"
)

// record is what producers and other workers are told of a circuit.
func record(info circuit.Info) queue.CircuitRecord {
	return queue.CircuitRecord{Name: info.Name, Digest: info.Digest.String(), Curve: info.Curve.String(), Public: info.Public}
}

// RegisterCircuit makes a circuit of the catalogue known to producers and to other workers.
func RegisterCircuit(ctx context.Context, client *queue.Client, info circuit.Info, replace bool) error {
	return client.RegisterCircuit(ctx, record(info), replace)
}

// PushCircuit stores a circuit of the catalogue in the bucket, for workers to fetch, and makes its name mean it: last, so that no
// producer finds a circuit that isn't there whole. A name that means another circuit is queue.ErrCircuitConflict, unless replace is set.
// Stages of progress are those of a check of the circuit, "digest" and "upload".
func PushCircuit(ctx context.Context, client *queue.Client, catalogue *circuit.Catalogue, ref circuit.Ref, replace bool, progress circuit.Progress) (*circuit.Info, error) {
	opened, err := catalogue.Open(ref)
	if err != nil {
		return nil, err
	}
	defer opened.Close() // it was only read
	named, err := client.Circuit(ctx, opened.Name)
	switch {
	case errors.Is(err, queue.ErrUnknownCircuit):
	case err != nil:
		return nil, err
	case named.Digest != opened.Digest.String() && !replace:
		return nil, fmt.Errorf("%w: %s, not %s", queue.ErrCircuitConflict, named.Ref(), opened.Digest)
	}
	if err := catalogue.Check(ctx, opened.Ref(), progress); err != nil {
		return nil, err
	}
	sources, closeAll, err := openFiles(opened.Files())
	if err != nil {
		return nil, err
	}
	defer closeAll()
	if err := client.StoreCircuit(ctx, record(opened.Info), sources, replace, progress); err != nil {
		return nil, err
	}
	return &opened.Info, RegisterCircuit(ctx, client, opened.Info, replace)
}

func openFiles(paths []string) (sources []queue.CircuitSource, closeAll func(), err error) {
	var files []*os.File
	closeAll = func() {
		for _, f := range files {
			f.Close() // it was only read
		}
	}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		files = append(files, f)
		stat, err := f.Stat()
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		sources = append(sources, queue.CircuitSource{Name: filepath.Base(path), Data: io.NewSectionReader(f, 0, stat.Size())})
	}
	return sources, closeAll, nil
}

// busyPause is how often one that waits for another's download looks whether that has ended.
const busyPause = 250 * time.Millisecond

// PullCircuit fetches a circuit from the bucket into the catalogue, unless it is there: pulled tells which. If another process of this
// machine is fetching it, that one's download is waited for. room is asked for what checking it takes; see circuit.Room. Errors wrap
// queue.ErrUnknownCircuit if the bucket doesn't have it, and queue.ErrCircuitDamaged or are *circuit.FormatError if what the bucket has
// is no good.
func PullCircuit(ctx context.Context, client *queue.Client, catalogue *circuit.Catalogue, ref circuit.Ref, room circuit.Room, progress circuit.Progress) (info *circuit.Info, pulled bool, err error) {
	for {
		if info, err = catalogue.Info(ref); err == nil {
			return info, false, nil
		}
		stored, err := client.CircuitFiles(ctx, ref.String())
		if err != nil {
			return nil, false, err
		}
		info, err = catalogue.Receive(ctx, ref, incoming(client, stored), room, progress)
		switch {
		case err == nil:
			return info, true, nil
		case errors.Is(err, circuit.ErrExists): // another was quicker
		case !errors.Is(err, circuit.ErrBusy):
			return nil, false, err
		default:
			if err := pause(ctx, busyPause); err != nil {
				return nil, false, err
			}
		}
	}
}

func incoming(client *queue.Client, stored *queue.CircuitFiles) []circuit.Incoming {
	files := make([]circuit.Incoming, len(stored.Files))
	for i, f := range stored.Files {
		files[i] = circuit.Incoming{Name: f.Name, Size: f.Len, Open: func(ctx context.Context) (io.ReadCloser, error) {
			return client.OpenCircuitFile(ctx, stored.CircuitRecord, f), nil
		}}
	}
	return files
}

// pause waits, or until ctx ends: then it returns why.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
