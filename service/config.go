package service

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
)

// Prefix begins the name of every environment variable that Pinion reads.
const Prefix = "PINION_"

// Config is the whole configuration: one field for each environment variable. The tags are the single source of its name (env,
// after PINION_), its default, its meaning (doc) and the values that it takes (form); Usage prints them.
type Config struct {
	NATS      string   `env:"NATS" envDefault:"nats://127.0.0.1:4222" doc:"broker to connect to, or embedded: run one in this process" form:"embedded, or one or more NATS URLs separated by commas"`
	NATSCreds string   `env:"NATS_CREDS" doc:"credentials file for the broker" form:"a file with a user's JWT and seed"`
	NATSNkey  string   `env:"NATS_NKEY" doc:"nkey for the broker" form:"a file with a user's seed"`
	NATSUser  string   `env:"NATS_USER" doc:"user of the broker" form:"a name, together with PINION_NATS_PASSWORD_FILE"`
	NATSPass  string   `env:"NATS_PASSWORD_FILE" doc:"password of PINION_NATS_USER" form:"a file with one line, together with PINION_NATS_USER"`
	NATSToken string   `env:"NATS_TOKEN_FILE" doc:"token for the broker" form:"a file with one line"`
	NATSInbox string   `env:"NATS_INBOX" envDefault:"_INBOX" doc:"prefix of the subjects that the broker's answers come on; a user who may subscribe only to subjects of its own needs another" form:"a subject such as _INBOX.alice"`
	NATSCA    string   `env:"NATS_TLS_CA" doc:"certificate authority that the broker's certificate is checked against" form:"a PEM file with certificates"`
	NATSCert  string   `env:"NATS_TLS_CERT" doc:"client certificate for the broker" form:"a PEM file, together with PINION_NATS_TLS_KEY"`
	NATSKey   string   `env:"NATS_TLS_KEY" doc:"key of the client certificate" form:"a PEM file, together with PINION_NATS_TLS_CERT"`
	Listen    string   `env:"LISTEN" envDefault:"127.0.0.1:4222" doc:"address of the embedded broker; it has no authentication" form:"a loopback address and port; port 0 takes a free one"`
	Data      string   `env:"DATA" envDefault:"~/.local/share/pinion" doc:"directory of the embedded broker's streams and, unless PINION_CIRCUITS says otherwise, of the circuits" form:"a directory"`
	Circuits  string   `env:"CIRCUITS" doc:"directory of the circuit catalogue; when empty, circuits in PINION_DATA" form:"a directory"`
	Fetched   Size     `env:"FETCHED" envDefault:"auto" doc:"room on the disk for circuits that were fetched from the broker: when one more exceeds it, those unused for the longest go; auto is no limit" form:"auto, or a size such as 100GiB"`
	Preload   []string `env:"PRELOAD" doc:"circuits to load before the worker is ready, fetched from the broker if they aren't in PINION_CIRCUITS" form:"circuit names separated by commas, or all"`
	Forgeable []string `env:"ALLOW_FORGEABLE" doc:"circuits to serve although their keys have no phase-2 contribution, so that anyone can forge their proofs" form:"circuit names separated by commas"`

	Device     string        `env:"DEVICE" envDefault:"auto" doc:"device that proves; auto is the first CUDA device, or the CPU where there is none" form:"auto, cpu, or cuda:N for CUDA device number N"`
	CUDALib    string        `env:"CUDA_LIB" doc:"library with the kernels for CUDA devices; when empty, libpinion_cuda.so beside the program or where libraries are" form:"a file"`
	DeviceTime time.Duration `env:"DEVICE_TIMEOUT" envDefault:"10m" doc:"time that the device may take for one proof, or to load a circuit, before it is taken for hung: its jobs go to other workers then, and this one is unhealthy" form:"a duration from 1s to 24h, such as 10m"`
	Synthesis  string        `env:"SYNTHESIS" envDefault:"auto" doc:"where the constraint vectors are computed: on the host into the pool's buffers, or by the device from the witness" form:"auto, host or device"`
	Memory     Size          `env:"MEMORY" envDefault:"auto" doc:"memory budget; auto is the smaller of the cgroup limit and the memory available, less a margin" form:"auto, or a size such as 512MiB or 24GiB"`
	Calculator Size          `env:"CALCULATOR_MEMORY" envDefault:"512MiB" doc:"memory that computing one witness from inputs may take; a job with inputs reserves it" form:"a size from 1MiB to 4GiB, such as 512MiB"`
	Calculate  time.Duration `env:"CALCULATOR_TIME" envDefault:"10m" doc:"time that computing one witness from inputs may take" form:"a duration from 1s to 24h, such as 10m"`
	Jobs       Jobs          `env:"JOBS" envDefault:"auto" doc:"jobs in hand at once; auto keeps the device busy: the tasks that it takes and one that is made ready, each a whole batch of jobs where a GPU proves small circuits" form:"auto, or a whole number from 1 to 256"`
	Worker     string        `env:"WORKER" doc:"name of this worker in results and leases; when empty, host name and process number" form:"1 to 64 characters of A-Z a-z 0-9 _ -"`
	AckWait    time.Duration `env:"ACK_WAIT" envDefault:"30s" doc:"time without a heartbeat after which the broker hands a job out again; a dead worker's lease on it lasts twice as long; all workers and pinion provision must agree" form:"a duration from 1s to 1h, such as 30s"`
	Grace      time.Duration `env:"GRACE" envDefault:"30s" doc:"time that running jobs have to finish after SIGTERM" form:"a duration from 0s to 24h, such as 30s"`
	Replies    []string      `env:"REPLY_PREFIXES" envDefault:"_INBOX.,_INBOX_,pinion.reply." doc:"prefixes of the subjects that a job may name for its reply" form:"subject prefixes separated by commas, none of which covers $ or a subject of pinion other than pinion.reply."`

	HTTP      string `env:"HTTP" envDefault:"127.0.0.1:8080" doc:"address of /healthz, /readyz and /metrics" form:"host:port, or off"`
	Log       string `env:"LOG" envDefault:"info" doc:"least level that is logged" form:"debug, info, warn or error"`
	LogFormat string `env:"LOG_FORMAT" envDefault:"auto" doc:"form of the log on stderr; auto is text on a terminal, else json" form:"auto, text or json"`
}

// Embedded is the value of PINION_NATS that asks for a broker in this process.
const Embedded = "embedded"

// LoadConfig reads the configuration from an environment as os.Environ returns it. All faults are reported together; each names
// the variable, the value that was found, and what was expected.
func LoadConfig(environ []string) (*Config, error) {
	vars := env.ToMap(environ)
	faults := unknownVariables(vars)

	var c Config
	err := env.ParseWithOptions(&c, env.Options{Prefix: Prefix, Environment: vars})
	unparsed := map[string]bool{}
	if parse, ok := errors.AsType[env.AggregateError](err); ok {
		for _, e := range parse.Errors {
			faults = append(faults, parseFault(e, vars, unparsed))
		}
	} else if err != nil {
		faults = append(faults, err)
	}
	faults = append(faults, c.check(unparsed)...)
	if len(faults) == 0 {
		faults = append(faults, c.fill()...)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return &c, nil
}

// parseFault turns a complaint of the parser, which knows Go fields, into one that names the variable, and notes the name.
func parseFault(err error, vars map[string]string, unparsed map[string]bool) error {
	if p, ok := errors.AsType[env.ParseError](err); ok {
		if f, ok := reflect.TypeFor[Config]().FieldByName(p.Name); ok {
			k := keyOf(f)
			unparsed[k.Name] = true
			return fault(k, vars[k.Name])
		}
	}
	return err
}

func fault(k Key, found string) error {
	return &VariableError{Name: k.Name, Found: found, Expected: k.Form}
}

// VariableError is an environment variable whose value is of no use.
type VariableError struct {
	Name, Found, Expected string
	Err                   error // nil, or what is wrong with the file that the value names
}

func (e *VariableError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v, expected %s", e.Name, e.Found, e.Err, e.Expected)
	}
	return fmt.Sprintf("%s: found %q, expected %s", e.Name, e.Found, e.Expected)
}

func (e *VariableError) Unwrap() error { return e.Err }

var (
	tokenForm  = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	inboxForm  = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
	prefixForm = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?$`)
)

// check returns a fault for each value that is outside its form, but for those that could not even be parsed.
func (c *Config) check(unparsed map[string]bool) (faults []error) {
	is := func(ok bool, env string, found any) {
		if k := keyNamed(env); !ok && !unparsed[k.Name] {
			faults = append(faults, fault(k, fmt.Sprint(found)))
		}
	}
	oneOf := func(env, found string, allowed ...string) { is(slices.Contains(allowed, found), env, found) }
	names := func(env string, found []string) {
		for _, name := range found {
			is(tokenForm.MatchString(name), env, name)
		}
	}

	is(c.NATS == Embedded || brokerURLs(c.NATS), "NATS", redactURLs(c.NATS))
	faults = append(faults, c.checkIdentity()...)
	is((c.NATSCert == "") == (c.NATSKey == ""), "NATS_TLS_CERT", c.NATSCert)
	is(inboxForm.MatchString(c.NATSInbox), "NATS_INBOX", c.NATSInbox)
	is(loopback(c.Listen), "LISTEN", c.Listen)
	is(c.HTTP == "off" || hostPort(c.HTTP), "HTTP", c.HTTP)
	names("PRELOAD", c.Preload)
	names("ALLOW_FORGEABLE", c.Forgeable)
	is(deviceForm.MatchString(c.Device), "DEVICE", c.Device)
	is(c.DeviceTime >= time.Second && c.DeviceTime <= 24*time.Hour, "DEVICE_TIMEOUT", c.DeviceTime)
	oneOf("SYNTHESIS", c.Synthesis, "auto", "host", "device")
	is(c.Calculator >= 1<<20 && c.Calculator <= 4<<30, "CALCULATOR_MEMORY", c.Calculator)
	is(c.Calculate >= time.Second && c.Calculate <= 24*time.Hour, "CALCULATOR_TIME", c.Calculate)
	is(c.Worker == "" || tokenForm.MatchString(c.Worker), "WORKER", c.Worker)
	is(c.AckWait >= time.Second && c.AckWait <= time.Hour, "ACK_WAIT", c.AckWait)
	is(c.Grace >= 0 && c.Grace <= 24*time.Hour, "GRACE", c.Grace)
	for _, p := range c.Replies {
		is(replyPrefix(p), "REPLY_PREFIXES", p)
	}
	oneOf("LOG", c.Log, "debug", "info", "warn", "error")
	oneOf("LOG_FORMAT", c.LogFormat, "auto", "text", "json")
	return faults
}

// fill resolves what depends on other values or on the machine.
func (c *Config) fill() (faults []error) {
	if rest, ok := strings.CutPrefix(c.Data, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return []error{fmt.Errorf("%sDATA: %q needs a home directory: %w", Prefix, c.Data, err)}
		}
		c.Data = filepath.Join(home, rest)
	}
	if c.Circuits == "" {
		c.Circuits = filepath.Join(c.Data, "circuits")
	}
	if c.Worker == "" {
		c.Worker = defaultWorker()
	}
	return nil
}

// BrokerDir is where the embedded broker keeps its streams.
func (c *Config) BrokerDir() string { return filepath.Join(c.Data, "nats") }

var notToken = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

func defaultWorker() string {
	host, err := os.Hostname()
	if err != nil {
		host = "worker"
	}
	host = notToken.ReplaceAllString(host, "-")
	return fmt.Sprintf("%.48s-%d", host, os.Getpid())
}

func brokerURLs(list string) bool {
	for s := range strings.SplitSeq(list, ",") {
		u, err := url.Parse(strings.TrimSpace(s))
		if err != nil || u.Host == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) {
			return false
		}
	}
	return true
}

var userInfo = regexp.MustCompile(`//.*@`)

// redactURLs hides the users and passwords that URLs may hold. A list that can't be taken apart, perhaps for a comma in a password,
// is hidden from the first to the last of them.
func redactURLs(list string) string {
	parts := strings.Split(list, ",")
	for i, s := range parts {
		if !strings.Contains(s, "://") {
			return userInfo.ReplaceAllString(list, "//***@")
		}
		parts[i] = userInfo.ReplaceAllString(s, "//***@")
	}
	return strings.Join(parts, ",")
}

func hostPort(addr string) bool {
	_, port, err := net.SplitHostPort(addr)
	return err == nil && port != ""
}

func loopback(addr string) bool {
	host, port, err := net.SplitHostPort(addr)
	return err == nil && port != "" && (host == "localhost" || net.ParseIP(host).IsLoopback())
}

// replyPrefix holds jobs to subjects that nothing takes commands from: a worker must not be made to publish to the broker's API
// or to Pinion's own streams.
func replyPrefix(p string) bool {
	const ours, replies = "pinion.", "pinion.reply."
	covers := strings.HasPrefix(ours, p) || strings.HasPrefix(p, ours)
	return prefixForm.MatchString(p) && (!covers || strings.HasPrefix(p, replies))
}
