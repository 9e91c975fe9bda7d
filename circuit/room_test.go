package circuit

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// Room is made by removing what wasn't opened for the longest time and isn't in use; what was added stays.
func TestMakeRoom(t *testing.T) {
	ctx, from, c := context.Background(), newCatalogue(t), newCatalogue(t)
	mustAdd(t, c, "added", Files{Zkey: edgeFiles("mul").Zkey})
	var refs []Ref
	for i, name := range []string{"a", "b", "d"} {
		ref := mustAdd(t, from, name, Files{Zkey: edgeFiles("mul").Zkey}).Ref()
		if _, err := c.Receive(ctx, ref, incomingFiles(t, from, ref), nil, nil); err != nil {
			t.Fatal(err)
		}
		long := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(c.path(ref.String()), long, long); err != nil {
			t.Fatal(err)
		}
		refs = append(refs, ref)
	}
	opened, err := c.Open(refs[0]) // the oldest is used again
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	folders, err := c.receivedFolders()
	if err != nil || len(folders) != 3 {
		t.Fatalf("%v, %v", folders, err)
	}
	size := folders[0].bytes
	if size < opened.Bytes {
		t.Errorf("a folder of %d bytes, its key has %d", size, opened.Bytes)
	}
	none := func(Ref) bool { return false }
	for _, x := range []struct {
		name        string
		need, limit int64
		inUse       func(Ref) bool
		removed     []Ref
		want        string
	}{
		{"enough", size, 4 * size, none, nil, ""},
		{"one in use", size, 3 * size, func(r Ref) bool { return r == refs[1] }, refs[2:], ""},
		{"never enough", 5 * size, 2 * size, func(r Ref) bool { return r == refs[1] }, refs[:1], "circuits that are in use and "},
		{"the last", 1, size, none, refs[1:2], ""},
		{"nothing left", 1, size, none, nil, ""},
	} {
		removed, err := c.MakeRoom(x.need, x.limit, x.inUse)
		if !slices.Equal(removed, x.removed) || (err == nil) != (x.want == "") || err != nil && !strings.HasPrefix(err.Error(), x.want) {
			t.Errorf("%s: removed %v, expected %v, error %v", x.name, removed, x.removed, err)
		}
	}
	if _, err := c.Info(Ref{Name: "added"}); err != nil {
		t.Error(err)
	}
}
