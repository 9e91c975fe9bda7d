package pool

import (
	"fmt"
	"runtime"
	"sync/atomic"
)

// Buffer is memory of a Pool, checked out to one owner.
type Buffer struct {
	block    *block
	bytes    []byte
	released atomic.Bool
	leak     runtime.Cleanup
}

func newBuffer(k *block, n int) *Buffer {
	buf := &Buffer{block: k, bytes: k.mem[:n:n]}
	buf.leak = runtime.AddCleanup(buf, (*block).leaked, k)
	return buf
}

// Bytes is the memory, as long as was asked for; nil once released. It is valid only while the Buffer itself is reachable:
// keep the Buffer, not only its bytes.
func (b *Buffer) Bytes() []byte {
	if b.released.Load() {
		return nil
	}
	return b.bytes
}

// Size is what the buffer takes of the budget, which may be more than was asked for.
func (b *Buffer) Size() int64 { return b.block.size() }

// Release clears the buffer and hands it back, exactly once: a second call does nothing, and is reported as a fault.
func (b *Buffer) Release() {
	if b.released.Swap(true) {
		b.block.pool.budget.fault(fmt.Errorf("pool: buffer of %d bytes released twice", len(b.bytes)))
		return
	}
	b.leak.Stop()
	clear(b.bytes) // the owner could write no more than this
	b.block.pool.put(b.block)
	runtime.KeepAlive(b)
}

// leaked is the safety net under a Buffer that was collected before it was released: nobody can reach its memory through the
// Buffer any more, so it is cleared and freed, and the mistake is reported.
func (k *block) leaked() {
	p := k.pool
	size := k.size()
	p.budget.mu.Lock()
	p.stats.Leaked++
	p.budget.mu.Unlock()
	clear(k.mem)
	if err := k.free(); err != nil {
		p.budget.tell(err)
	}
	p.budget.tell(fmt.Errorf("pool: buffer of %d bytes was never released", size))
}
