package pool

// Buffer is memory of a Pool, checked out to one owner.
type Buffer struct {
	pool *Pool
}

// Bytes is the memory, as long as was asked for. It is valid until Release, and only while the Buffer itself is reachable:
// keep the Buffer, not only its bytes.
func (b *Buffer) Bytes() []byte { panic("soon") }

// Size is what the buffer takes of the budget.
func (b *Buffer) Size() int64 { panic("soon") }

// Release clears the buffer and hands it back, exactly once: a second call does nothing, and is reported as a fault.
func (b *Buffer) Release() { panic("soon") }
