package pool

// Reservation is bytes of a budget that its holder may use. It is given back in parts or as a whole, exactly once.
// It is safe for concurrent use.
type Reservation struct {
	budget *Budget
}

// Bytes is what the reservation still holds.
func (r *Reservation) Bytes() int64 { panic("soon") }

// Release gives n bytes back. To release more than is held is a fault: what is held goes back, and the fault is reported.
func (r *Reservation) Release(n int64) { panic("soon") }

// Split moves n bytes to a reservation of their own: those of a circuit that stays loaded, say, when the job ends.
func (r *Reservation) Split(n int64) (*Reservation, error) { panic("soon") }

// Close gives back what is left. It may be called again.
func (r *Reservation) Close() { panic("soon") }
