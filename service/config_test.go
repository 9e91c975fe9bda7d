package service

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestDefaults(t *testing.T) {
	c, err := LoadConfig(nil)
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skip(err)
	}
	if want := filepath.Join(home, ".local/share/pinion"); c.Data != want {
		t.Errorf("data directory: %s, expected %s", c.Data, want)
	}
	if want := filepath.Join(c.Data, "circuits"); c.Circuits != want {
		t.Errorf("catalogue: %s, expected %s", c.Circuits, want)
	}
	if !tokenForm.MatchString(c.Worker) {
		t.Errorf("worker name %q", c.Worker)
	}
	if c.Jobs != 0 || c.AckWait != 30*time.Second || c.DeviceTime != 10*time.Minute || c.Memory != 0 || len(c.Replies) != 3 {
		t.Errorf("%+v", c)
	}
}

func TestValues(t *testing.T) {
	c, err := LoadConfig([]string{
		"PINION_NATS=tls://a:4222,nats://b", "PINION_MEMORY=1.5GiB", "PINION_JOBS=7", "PINION_ACK_WAIT=2m", "PINION_PRELOAD=a,b",
		"PINION_CIRCUITS=/c", "PINION_DATA=/d", "PINION_WORKER=w-1", "PINION_REPLY_PREFIXES=app.replies.", "PINION_LOG=debug",
		"OTHER=x", "PINION_SERVICE_HOST=10.0.0.1", "PINION_NATS_SERVICE_PORT_CLIENT=4222", "PINION_NATS_PORT=tcp://10.0.0.1:4222", "PINION_NATS_PORT_4222_TCP_ADDR=10.0.0.1",
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.Memory != 3<<29 || c.Jobs != 7 || c.AckWait != 2*time.Minute || c.Circuits != "/c" || c.BrokerDir() != "/d/nats" ||
		c.Worker != "w-1" || strings.Join(c.Preload, " ") != "a b" || strings.Join(c.Replies, " ") != "app.replies." {
		t.Errorf("%+v", c)
	}
}

func TestBadConfig(t *testing.T) {
	tests := []struct{ env, want string }{
		{"PINION_JOBS=many", `PINION_JOBS: found "many", expected auto, or a whole number from 1 to 256`},
		{"PINION_JOBS=0", `PINION_JOBS: found "0", expected auto, or a whole number from 1 to 256`},
		{"PINION_MEMORY=lots", `PINION_MEMORY: found "lots", expected auto, or a size such as 512MiB or 24GiB`},
		{"PINION_MEMORY=-1GiB", `PINION_MEMORY: found "-1GiB", expected auto, or a size such as 512MiB or 24GiB`},
		{"PINION_ACK_WAIT=30", `PINION_ACK_WAIT: found "30", expected a duration from 1s to 1h, such as 30s`},
		{"PINION_DEVICE_TIMEOUT=0s", `PINION_DEVICE_TIMEOUT: found "0s", expected a duration from 1s to 24h, such as 10m`},
		{"PINION_ACK_WAIT=10ms", `PINION_ACK_WAIT: found "10ms", expected a duration from 1s to 1h, such as 30s`},
		{"PINION_CALCULATOR_TIME=0s", `PINION_CALCULATOR_TIME: found "0s", expected a duration from 1s to 24h, such as 10m`},
		{"PINION_CALCULATOR_MEMORY=1KiB", `PINION_CALCULATOR_MEMORY: found "1KiB", expected a size from 1MiB to 4GiB, such as 512MiB`},
		{"PINION_DEVICE=cuda", `PINION_DEVICE: found "cuda", expected auto, cpu, or cuda:N for CUDA device number N`},
		{"PINION_DEVICE=cuda:-1", `PINION_DEVICE: found "cuda:-1", expected auto, cpu, or cuda:N for CUDA device number N`},
		{"PINION_SYNTHESIS=gpu", `PINION_SYNTHESIS: found "gpu", expected auto, host or device`},
		{"PINION_NATS=http://x", `PINION_NATS: found "http://x", expected embedded, or one or more NATS URLs separated by commas`},
		{"PINION_NATS=http://user:secret@x", `PINION_NATS: found "http://***@x", expected embedded, or one or more NATS URLs separated by commas`},
		{"PINION_NATS=nats://user:se,cret@x", `PINION_NATS: found "nats://***@x", expected embedded, or one or more NATS URLs separated by commas`},
		{"PINION_NATS=nats://user:se/cret@x", `PINION_NATS: found "nats://***@x", expected embedded, or one or more NATS URLs separated by commas`},
		{"PINION_NATS=nats://user:se@c,ret@x", `PINION_NATS: found "nats://***@x", expected embedded, or one or more NATS URLs separated by commas`},
		{"PINION_NATS=nats://user:%zz@x", `PINION_NATS: found "nats://***@x", expected embedded, or one or more NATS URLs separated by commas`},
		{"PINION_NATS=nats://user:a@x,http://user:b@y", `PINION_NATS: found "nats://***@x,http://***@y", expected embedded, or one or more NATS URLs separated by commas`},
		{"PINION_NATS_USER=me", `PINION_NATS_USER: found "me", expected a name, together with PINION_NATS_PASSWORD_FILE`},
		{"PINION_NATS_PASSWORD_FILE=f", `PINION_NATS_USER: found "", expected a name, together with PINION_NATS_PASSWORD_FILE`},
		{"PINION_NATS_INBOX=_INBOX.", `PINION_NATS_INBOX: found "_INBOX.", expected a subject such as _INBOX.alice`},
		{"PINION_NATS_INBOX=_INBOX.>", `PINION_NATS_INBOX: found "_INBOX.>", expected a subject such as _INBOX.alice`},
		{"PINION_NATS_TLS_KEY=k.pem", `PINION_NATS_TLS_CERT: found "", expected a PEM file, together with PINION_NATS_TLS_KEY`},
		{"PINION_LISTEN=0.0.0.0:4222", `PINION_LISTEN: found "0.0.0.0:4222", expected a loopback address and port; port 0 takes a free one`},
		{"PINION_HTTP=8080", `PINION_HTTP: found "8080", expected host:port, or off`},
		{"PINION_WORKER=a.b", `PINION_WORKER: found "a.b", expected 1 to 64 characters of A-Z a-z 0-9 _ -`},
		{"PINION_PRELOAD=a b", `PINION_PRELOAD: found "a b", expected circuit names separated by commas, or all`},
		{"PINION_REPLY_PREFIXES=$JS.API.", `PINION_REPLY_PREFIXES: found "$JS.API.", expected subject prefixes separated by commas, none of which covers $ or a subject of pinion other than pinion.reply.`},
		{"PINION_REPLY_PREFIXES=pinion.result.", `PINION_REPLY_PREFIXES: found "pinion.result.", expected subject prefixes separated by commas, none of which covers $ or a subject of pinion other than pinion.reply.`},
		{"PINION_REPLY_PREFIXES=pin", `PINION_REPLY_PREFIXES: found "pin", expected subject prefixes separated by commas, none of which covers $ or a subject of pinion other than pinion.reply.`},
		{"PINION_LOG=loud", `PINION_LOG: found "loud", expected debug, info, warn or error`},
		{"PINION_JOB=3", `PINION_JOB: unknown variable; did you mean PINION_JOBS?`},
		{"PINION_REPLY_PREFIX=x.", `PINION_REPLY_PREFIX: unknown variable; did you mean PINION_REPLY_PREFIXES?`},
		{"PINION_FROBNICATE=1", `PINION_FROBNICATE: unknown variable; pinion serve --help lists them`},
	}
	for _, test := range tests {
		t.Run(test.env, func(t *testing.T) {
			_, err := LoadConfig([]string{test.env})
			if err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestOneIdentity(t *testing.T) {
	_, err := LoadConfig([]string{"PINION_NATS_CREDS=a", "PINION_NATS_NKEY=b"})
	if want := "PINION_NATS_CREDS, PINION_NATS_NKEY: expected only one of them"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestAllFaultsAtOnce(t *testing.T) {
	_, err := LoadConfig([]string{"PINION_JOBS=x", "PINION_MEMORY=y", "PINION_TYPO=z", "PINION_DEVICE=abacus"})
	for _, want := range []string{"PINION_JOBS", "PINION_MEMORY", "PINION_TYPO", "PINION_DEVICE"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not in: %v", want, err)
		}
	}
}

func TestEveryKeyIsDescribed(t *testing.T) {
	for _, k := range Keys() {
		if k.Name == Prefix || k.Doc == "" || k.Form == "" {
			t.Errorf("incomplete: %+v", k)
		}
	}
}

var rewrite = flag.Bool("rewrite", false, "write the golden files instead of comparing with them")

func TestUsage(t *testing.T) {
	var b strings.Builder
	if err := Usage(&b); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/usage.txt"
	if *rewrite {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the table differs from %s; go test ./service -run TestUsage -rewrite writes it. It is now:\n%s", golden, b.String())
	}
}

func TestSize(t *testing.T) {
	tests := []struct {
		text string
		want Size
		back string
	}{
		{"auto", 0, "auto"}, {"1", 1, "1B"}, {"512B", 512, "512B"}, {"64KiB", 64 << 10, "64KiB"}, {"1.5 MiB", 3 << 19, "1.5MiB"},
		{"2GB", 2e9, "1.9GiB"}, {"3TiB", 3 << 40, "3072GiB"},
	}
	for _, test := range tests {
		var s Size
		if err := s.UnmarshalText([]byte(test.text)); err != nil || s != test.want || s.String() != test.back {
			t.Errorf("%q: got %d, %v, %s; want %d, %s", test.text, int64(s), err, s, int64(test.want), test.back)
		}
	}
	for _, text := range []string{"", "0", "-1", "1 parsec", "NaN", "Inf", "9e99GiB", "0x10", "KiB", "0.5"} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q: got %d, expected an error", text, int64(s))
		}
	}
}
