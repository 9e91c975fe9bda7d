package pool_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/pinion-zk/pinion/pool"
)

// A job reserves all that it will need, before it starts.
func Example() {
	ctx := context.Background()
	budget := pool.NewBudget(64 << 20)
	buffers := pool.NewPool(budget, pool.HugePages{})
	defer buffers.Close()

	const scratch, witness = 1 << 20, 8 << 20
	r, err := buffers.Reserve(ctx, scratch, witness)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	w, err := buffers.Get(r, witness)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(w.Bytes())>>20, "MiB to fill,", budget.Used()>>20, "MiB used")

	r.Release(scratch)
	w.Release()
	fmt.Println(budget.Used()>>20, "MiB used by the idle buffer")

	_, err = budget.Reserve(ctx, 65<<20)
	var exceeds *pool.ExceedsError
	fmt.Println(errors.As(err, &exceeds), err)
	// Output:
	// 8 MiB to fill, 9 MiB used
	// 8 MiB used by the idle buffer
	// true memory budget: 68157440 bytes wanted, 67108864 bytes in all
}
