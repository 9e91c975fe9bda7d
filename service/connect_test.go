package service

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/pinion-zk/pinion/queue"
)

// secureBroker runs a broker with the given options, and returns its address.
func secureBroker(t *testing.T, options *server.Options) (addr string) {
	t.Helper()
	options.Host, options.Port, options.JetStream, options.StoreDir = "127.0.0.1", server.RANDOM_PORT, true, t.TempDir()
	options.NoLog, options.NoSigs, options.TLSTimeout = true, true, 10
	return runBroker(t, options).Addr().String()
}

func runBroker(t *testing.T, options *server.Options) *server.Server {
	t.Helper()
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(brokerStart) {
		t.Fatal("broker isn't ready")
	}
	return s
}

// authority issues certificates for 127.0.0.1.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{dir: t.TempDir()}
	a.cert, a.key = a.issue(t, "ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// issue writes NAME.pem and NAME.key.
func (a *authority) issue(t *testing.T, name string, cert *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert.SerialNumber, cert.Subject = big.NewInt(1), pkix.Name{CommonName: a.file(name)}
	cert.NotBefore = time.Now().Add(-time.Hour)
	if cert.NotAfter.IsZero() {
		cert.NotAfter = time.Now().Add(time.Hour)
	}
	parent, signer := a.cert, a.key
	if parent == nil { // the authority itself
		parent, signer = cert, key
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	save(t, a.file(name+".pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	save(t, a.file(name+".key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
	made, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return made, key
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

func save(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// tlsConfig is a server's; it issues the files of the server and of a client.
func (a *authority) tlsConfig(t *testing.T, mutual bool) *tls.Config {
	t.Helper()
	use := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	past := time.Now().Add(-time.Minute)
	a.issue(t, "server", &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: use})
	a.issue(t, "server-expired", &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: use, NotAfter: past})
	a.issue(t, "server-elsewhere", &x509.Certificate{DNSNames: []string{"nats.example.com"}, ExtKeyUsage: use})
	a.issue(t, "client", &x509.Certificate{ExtKeyUsage: use})
	a.issue(t, "client-expired", &x509.Certificate{ExtKeyUsage: use, NotAfter: past})
	return a.serverConfig(t, "server", mutual)
}

// serverConfig is that of a server with the given certificate.
func (a *authority) serverConfig(t *testing.T, name string, mutual bool) *tls.Config {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(a.file(name+".pem"), a.file(name+".key"))
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if mutual {
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		config.ClientCAs.AddCert(a.cert)
	}
	return config
}

// provisions connects with the given environment, and provisions the broker.
func provisions(t *testing.T, env ...string) error {
	t.Helper()
	c, err := LoadConfig(env)
	if err != nil {
		t.Fatal(err)
	}
	nc, err := c.Connect("test", slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	_, err = queue.Provision(t.Context(), js, queue.Options{MaxBytes: 1 << 20})
	return err
}

// refused checks the error of a connection; DIR, ADDR and what * matches differ from run to run.
func refused(t *testing.T, err error, dir, addr, want string) {
	t.Helper()
	want = strings.NewReplacer("DIR", dir, "ADDR", addr).Replace(want)
	pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(want), `\*`, ".*") + "$"
	if err == nil || !regexp.MustCompile(pattern).MatchString(err.Error()) {
		t.Errorf("\n got %v\nwant %s", err, want)
	}
}

func TestConnectTLS(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	oneWay := secureBroker(t, &server.Options{TLS: true, TLSConfig: ours.tlsConfig(t, false)})
	mutual := secureBroker(t, &server.Options{TLS: true, TLSConfig: ours.tlsConfig(t, true), TLSVerify: true})
	plain := secureBroker(t, &server.Options{})
	expired := secureBroker(t, &server.Options{TLS: true, TLSConfig: ours.serverConfig(t, "server-expired", false)})
	elsewhere := secureBroker(t, &server.Options{TLS: true, TLSConfig: ours.serverConfig(t, "server-elsewhere", false)})
	silent := secureBroker(t, &server.Options{TLS: true, TLSConfig: ours.tlsConfig(t, false), TLSHandshakeFirst: true})
	theirs.tlsConfig(t, false)
	save(t, ours.file("empty"), nil)

	ca := "PINION_NATS_TLS_CA=" + ours.file("ca.pem")
	cert, key := "PINION_NATS_TLS_CERT="+ours.file("client.pem"), "PINION_NATS_TLS_KEY="+ours.file("client.key")
	const unknown = "nats: tls error: tls: failed to verify certificate: x509: certificate signed by unknown authority; the authorities that its certificate is checked against are those of PINION_NATS_TLS_CA, or the system's if that is not set"
	const wanted = "; if it wants a client certificate, set PINION_NATS_TLS_CERT and PINION_NATS_TLS_KEY to one that it trusts"
	tests := []struct {
		name, url, addr string
		env             []string
		want            string
	}{
		{"authority", "tls://ADDR", oneWay, []string{ca}, ""},
		{"the broker asks for TLS", "nats://ADDR", oneWay, []string{ca}, ""},
		{"mutual", "tls://ADDR", mutual, []string{ca, cert, key}, ""},
		{"no authority", "nats://me:secret@ADDR", oneWay, nil, "broker nats://***@ADDR: " + unknown},
		{"another authority", "tls://ADDR", oneWay, []string{"PINION_NATS_TLS_CA=" + theirs.file("ca.pem")}, "broker tls://ADDR: " + unknown},
		{"no client certificate", "tls://ADDR", mutual, []string{ca}, "broker tls://ADDR: * tls*" + wanted},
		{"client certificate of another authority", "tls://ADDR", mutual,
			[]string{ca, "PINION_NATS_TLS_CERT=" + theirs.file("client.pem"), "PINION_NATS_TLS_KEY=" + theirs.file("client.key")},
			"broker tls://ADDR: * tls*" + wanted},
		{"TLS to a broker without", "tls://ADDR", plain, []string{ca}, "broker tls://ADDR: nats: secure connection not available"},
		{"expired certificate", "tls://ADDR", expired, []string{ca},
			"broker tls://ADDR: nats: tls error: tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time * is after *"},
		{"certificate of another host", "tls://ADDR", elsewhere, []string{ca},
			"broker tls://ADDR: nats: tls error: tls: failed to verify certificate: x509: cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs"},
		{"the broker waits for TLS", "nats://ADDR", silent, []string{ca}, "broker nats://ADDR: read tcp *: i/o timeout; something listens there and says nothing: if it is a broker that waits for TLS, set handshake_first to auto there"},
		{"expired client certificate", "tls://ADDR", mutual, []string{ca, "PINION_NATS_TLS_CERT=" + ours.file("client-expired.pem"), "PINION_NATS_TLS_KEY=" + ours.file("client-expired.key")},
			"PINION_NATS_TLS_CERT: DIR/client-expired.pem: it expired at *Z, expected a PEM file, together with PINION_NATS_TLS_KEY"},
		{"authority, and a broker without TLS", "nats://ADDR", plain, []string{ca}, "broker nats://ADDR: nats: secure connection not available"},
		{"no such authority", "tls://ADDR", oneWay, []string{"PINION_NATS_TLS_CA=" + ours.file("none")},
			"PINION_NATS_TLS_CA: DIR/none: no such file or directory, expected a PEM file with certificates"},
		{"empty authority", "tls://ADDR", oneWay, []string{"PINION_NATS_TLS_CA=" + ours.file("empty")},
			"PINION_NATS_TLS_CA: DIR/empty: no certificate in it, expected a PEM file with certificates"},
		{"no such key", "tls://ADDR", mutual, []string{ca, cert, "PINION_NATS_TLS_KEY=" + ours.file("none")},
			"PINION_NATS_TLS_KEY: DIR/none: no such file or directory, expected a PEM file, together with PINION_NATS_TLS_CERT"},
		{"another certificate's key", "tls://ADDR", mutual, []string{ca, cert, "PINION_NATS_TLS_KEY=" + ours.file("server.key")},
			"PINION_NATS_TLS_CERT: DIR/client.pem: tls: private key does not match public key, expected a PEM file, together with PINION_NATS_TLS_KEY"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := provisions(t, append(test.env, "PINION_NATS="+strings.Replace(test.url, "ADDR", test.addr, 1))...)
			if test.want != "" {
				refused(t, err, ours.dir, test.addr, test.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// pair makes an nkey.
func pair(t *testing.T, create func() (nkeys.KeyPair, error)) (keys nkeys.KeyPair, public string) {
	t.Helper()
	keys, err := create()
	if err == nil {
		public, err = keys.PublicKey()
	}
	if err != nil {
		t.Fatal(err)
	}
	return keys, public
}

// credsBroker trusts an operator: creds are of a user of its account, foreign ones of an account that the broker doesn't know.
func credsBroker(t *testing.T) (addr string, creds, foreign []byte) {
	t.Helper()
	operator, operatorID := pair(t, nkeys.CreateOperator)
	account, accountID := pair(t, nkeys.CreateAccount)
	_, systemID := pair(t, nkeys.CreateAccount)

	resolver := &server.MemAccResolver{}
	for _, id := range []string{accountID, systemID} {
		claims := jwt.NewAccountClaims(id)
		if id == accountID { // the system's account may hold no streams
			claims.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: -1, MemoryStorage: -1, Streams: -1, Consumer: -1}
		}
		token, err := claims.Encode(operator)
		if err == nil {
			err = resolver.Store(id, token)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	trusted := jwt.NewOperatorClaims(operatorID)
	trusted.SystemAccount = systemID
	addr = secureBroker(t, &server.Options{
		TrustedOperators: []*jwt.OperatorClaims{trusted}, AccountResolver: resolver, SystemAccount: systemID,
	})
	other, _ := pair(t, nkeys.CreateAccount)
	return addr, userCreds(t, account), userCreds(t, other)
}

// userCreds is the credentials file of a new user of the account.
func userCreds(t *testing.T, account nkeys.KeyPair) []byte {
	t.Helper()
	user, id := pair(t, nkeys.CreateUser)
	token, err := jwt.NewUserClaims(id).Encode(account)
	if err != nil {
		t.Fatal(err)
	}
	seed, err := user.Seed()
	if err != nil {
		t.Fatal(err)
	}
	file, err := jwt.FormatUserConfig(token, seed)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// who is the advice for those whom the broker doesn't know.
const who = "; set one of PINION_NATS_CREDS, PINION_NATS_NKEY, PINION_NATS_USER and PINION_NATS_TOKEN_FILE, or user and password in PINION_NATS"

func TestConnectCreds(t *testing.T) {
	addr, creds, foreign := credsBroker(t)
	url, dir := "PINION_NATS=nats://"+addr, t.TempDir()
	token, seed, _ := strings.Cut(string(creds), "------END NATS USER JWT------")
	const expected = ", expected a file with a user's JWT and seed"
	const unauthorized = "broker nats://ADDR: nats: Authorization Violation" + who
	for _, test := range []struct{ name, file, want string }{
		{"good", string(creds), ""},
		{"foreign", string(foreign), unauthorized},
		{"empty", "", "PINION_NATS_CREDS: DIR/empty: no user's JWT in it" + expected},
		{"text", "password", "PINION_NATS_CREDS: DIR/text: no user's JWT in it" + expected},
		{"token", token + "------END NATS USER JWT------\n", "PINION_NATS_CREDS: DIR/token: no user's seed in it" + expected},
		{"seed", seed, "PINION_NATS_CREDS: DIR/seed: no user's JWT in it" + expected},
		{"none", "", "PINION_NATS_CREDS: DIR/none: no such file or directory" + expected},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(dir, test.name)
			if test.name != "none" {
				save(t, path, []byte(test.file))
			}
			err := provisions(t, url, "PINION_NATS_CREDS="+path)
			if test.want != "" {
				refused(t, err, dir, addr, test.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("not set", func(t *testing.T) { refused(t, provisions(t, url), dir, addr, unauthorized) })
}

func TestConnectPassword(t *testing.T) {
	addr := secureBroker(t, &server.Options{Username: "me", Password: "secret"})
	if err := provisions(t, "PINION_NATS=nats://me:secret@"+addr); err != nil {
		t.Error(err)
	}
	refused(t, provisions(t, "PINION_NATS=nats://me:wrong@"+addr), "", addr, "broker nats://***@ADDR: nats: Authorization Violation"+who)

	tests := []struct{ name, file, want string }{
		{"good", "secret\n", ""},
		{"bare", "secret", ""},
		{"wrong", "wrong\n", "broker nats://ADDR: nats: Authorization Violation" + who},
		{"empty", "\n", "PINION_NATS_PASSWORD_FILE: DIR/empty: nothing in it, expected a file with one line, together with PINION_NATS_USER"},
		{"lines", "secret\nsecret\n", "PINION_NATS_PASSWORD_FILE: DIR/lines: several lines in it, expected a file with one line, together with PINION_NATS_USER"},
		{"none", "", "PINION_NATS_PASSWORD_FILE: DIR/none: no such file or directory, expected a file with one line, together with PINION_NATS_USER"},
	}
	secretFiles(t, addr, tests, "PINION_NATS_USER=me", "PINION_NATS_PASSWORD_FILE=")
}

func TestConnectToken(t *testing.T) {
	addr := secureBroker(t, &server.Options{Authorization: "secret"})
	secretFiles(t, addr, []struct{ name, file, want string }{
		{"good", "secret\n", ""},
		{"wrong", "wrong\n", "broker nats://ADDR: nats: Authorization Violation" + who},
		{"empty", "", "PINION_NATS_TOKEN_FILE: DIR/empty: nothing in it, expected a file with one line"},
	}, "PINION_NATS_TOKEN_FILE=")
}

func TestConnectNkey(t *testing.T) {
	user, public := pair(t, nkeys.CreateUser)
	stranger, _ := pair(t, nkeys.CreateUser)
	account, _ := pair(t, nkeys.CreateAccount)
	seed := func(keys nkeys.KeyPair) string {
		text, err := keys.Seed()
		if err != nil {
			t.Fatal(err)
		}
		return string(text) + "\n"
	}
	addr := secureBroker(t, &server.Options{Nkeys: []*server.NkeyUser{{Nkey: public}}})
	secretFiles(t, addr, []struct{ name, file, want string }{
		{"good", seed(user), ""},
		{"stranger", seed(stranger), "broker nats://ADDR: nats: Authorization Violation" + who},
		{"public", public, "PINION_NATS_NKEY: DIR/public: no seed in it, expected a file with a user's seed"},
		{"account", seed(account), "PINION_NATS_NKEY: DIR/account: the seed in it is no user's, expected a file with a user's seed"},
	}, "PINION_NATS_NKEY=")
}

// secretFiles connects with each file, which the last variable names, and checks that no error holds what is in it.
func secretFiles(t *testing.T, addr string, tests []struct{ name, file, want string }, env ...string) {
	t.Helper()
	dir := t.TempDir()
	for _, test := range tests {
		path := filepath.Join(dir, test.name)
		if test.name != "none" {
			save(t, path, []byte(test.file))
		}
		vars := append([]string{"PINION_NATS=nats://" + addr}, env...)
		vars[len(vars)-1] += path
		err := provisions(t, vars...)
		if test.want != "" {
			refused(t, err, dir, addr, test.want)
		} else if err != nil {
			t.Error(test.name, err)
		}
		if secret := strings.TrimSpace(test.file); err != nil && secret != "" && secret != test.name && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error tells the secret: %v", test.name, err)
		}
	}
}

// A password that is changed is read again when the connection is restored.
func TestConnectReadsPasswordAgain(t *testing.T) {
	options := &server.Options{Username: "me", Password: "first", Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true}
	broker := runBroker(t, options)
	file := filepath.Join(t.TempDir(), "password")
	save(t, file, []byte("first\n"))
	c, err := LoadConfig([]string{"PINION_NATS=" + broker.ClientURL(), "PINION_NATS_USER=me", "PINION_NATS_PASSWORD_FILE=" + file})
	if err != nil {
		t.Fatal(err)
	}
	nc, err := c.Connect("test", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	restored := nc.StatusChanged(nats.CONNECTED)
	save(t, file, []byte("second\n"))
	changed := options.Clone()
	changed.Password = "second"
	if err := broker.ReloadOptions(changed); err != nil { // which ends the connection
		t.Fatal(err)
	}
	select {
	case <-restored:
	case <-time.After(patience):
		t.Errorf("not connected again: %v", nc.LastError())
	}
}
