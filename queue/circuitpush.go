package queue

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// CircuitSource is a file to be stored: name and content, which is read twice
// and must not change meanwhile.
type CircuitSource struct {
	Name string
	Data *io.SectionReader
}

// StoreCircuit stores a circuit's files; RegisterCircuit makes its name mean
// it. Parts that are there are not sent again, so one that was interrupted
// goes on where it was, one of what is there sends nothing, and one of what
// has lost chunks since mends it. Other files
// under the same name and digest are ErrCircuitConflict, unless replace is set.
//
// progress, when set, is told of bytes that are read ("digest") and that are
// stored ("upload").
func (c *Client) StoreCircuit(ctx context.Context, r CircuitRecord, sources []CircuitSource, replace bool, progress func(stage string, done, total int64)) error {
	if _, _, err := ParseCircuit(r.Ref()); err != nil {
		return err
	}
	p := &push{c: c, files: CircuitFiles{CircuitRecord: r}, sources: sources, progress: progress}
	if err := p.survey(ctx); err != nil {
		return err
	}
	old, err := c.CircuitFiles(ctx, r.Ref())
	switch {
	case errors.Is(err, ErrUnknownCircuit):
		old = &CircuitFiles{}
	case err != nil:
		return err
	}
	same := slices.Equal(old.Files, p.files.Files)
	if old.Files != nil && !same && !replace {
		return fmt.Errorf("%w: %s is stored with other files", ErrCircuitConflict, r.Ref())
	}
	if err := p.upload(ctx); err != nil || same {
		return err
	}
	if err := c.putEmpty(ctx, r.storedName(), p.files.metadata()); err != nil {
		return err
	}
	return c.removeParts(ctx, old, p.files.Files)
}

// push is the state of one StoreCircuit.
type push struct {
	c        *Client
	files    CircuitFiles
	sources  []CircuitSource // in the order of files
	parts    [][][32]byte    // digest of each part of each file
	progress func(stage string, done, total int64)
}

func (p *push) report(stage string, done int64) {
	if p.progress == nil {
		return
	}
	total := int64(0)
	for _, s := range p.sources {
		total += s.Data.Size()
	}
	p.progress(stage, done, total)
}

// survey takes the digests of the files and of their parts.
func (p *push) survey(ctx context.Context) error {
	p.sources = slices.SortedFunc(slices.Values(p.sources), func(a, b CircuitSource) int { return strings.Compare(a.Name, b.Name) })
	done := int64(0)
	for _, s := range p.sources {
		whole, part := sha256.New(), sha256.New()
		var parts [][32]byte
		for at := int64(0); at < s.Data.Size(); at += chunkBytes {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			n, err := io.Copy(io.MultiWriter(whole, part), io.NewSectionReader(s.Data, at, min(chunkBytes, s.Data.Size()-at)))
			if err != nil {
				return fmt.Errorf("queue: read %s: %w", s.Name, err)
			}
			done += n
			p.report("digest", done)
			if end := at + chunkBytes; end%circuitPart == 0 || end >= s.Data.Size() {
				parts = append(parts, [32]byte(part.Sum(nil)))
				part.Reset()
			}
		}
		p.files.Files = append(p.files.Files, CircuitFile{s.Name, s.Data.Size(), [32]byte(whole.Sum(nil))})
		p.parts = append(p.parts, parts)
	}
	return p.files.validate()
}

// upload stores the parts that aren't there, or not whole.
func (p *push) upload(ctx context.Context) error {
	done := int64(0)
	for i, file := range p.files.Files {
		for n := range file.parts() {
			object, size := file.part(p.files.CircuitRecord, n)
			there, err := p.c.circuits.whole(ctx, object, size)
			if err == nil && !there {
				data := io.NewSectionReader(p.sources[i].Data, n*circuitPart, size)
				err = p.c.circuits.put(ctx, object, p.parts[i][n], data, func(stored int64) { p.report("upload", done+stored) })
			}
			if err != nil {
				return err
			}
			done += size
			p.report("upload", done)
		}
	}
	return nil
}

// removeParts removes the parts of a circuit's files, but for those to keep.
func (c *Client) removeParts(ctx context.Context, files *CircuitFiles, keep []CircuitFile) error {
	for _, file := range files.Files {
		if slices.Contains(keep, file) {
			continue
		}
		for n := range file.parts() {
			object, _ := file.part(files.CircuitRecord, n)
			if err := c.circuits.remove(ctx, object); err != nil {
				return err
			}
		}
	}
	return nil
}
