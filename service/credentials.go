package service

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// checkIdentity returns a fault if it isn't clear as who to connect.
func (c *Config) checkIdentity() (faults []error) {
	if (c.NATSUser == "") != (c.NATSPass == "") {
		faults = append(faults, fault(keyNamed("NATS_USER"), c.NATSUser))
	}
	set := []string{}
	for _, v := range []struct{ env, value string }{
		{"NATS_CREDS", c.NATSCreds}, {"NATS_NKEY", c.NATSNkey}, {"NATS_USER", c.NATSUser}, {"NATS_TOKEN_FILE", c.NATSToken},
	} {
		if v.value != "" {
			set = append(set, Prefix+v.env)
		}
	}
	if len(set) > 1 {
		faults = append(faults, fmt.Errorf("%s: expected only one of them", strings.Join(set, ", ")))
	}
	return faults
}

// credentials are the options for what says who we are to the broker and whom we trust. All files are read here, so that
// what is wrong with one is told by its variable; the connection reads them again whenever it is restored.
func (c *Config) credentials() (options []nats.Option, err error) {
	if c.NATSInbox != "" {
		options = append(options, nats.CustomInboxPrefix(c.NATSInbox))
	}
	if c.NATSCreds != "" {
		if _, err := readVariable("NATS_CREDS", c.NATSCreds, checkCreds); err != nil {
			return nil, err
		}
		options = append(options, nats.UserCredentials(c.NATSCreds))
	}
	if c.NATSNkey != "" {
		if _, err := readVariable("NATS_NKEY", c.NATSNkey, checkNkey); err != nil {
			return nil, err
		}
		nkey, err := nats.NkeyOptionFromSeed(c.NATSNkey)
		if err != nil {
			return nil, fmt.Errorf("%sNATS_NKEY: %s: %w", Prefix, c.NATSNkey, err)
		}
		options = append(options, nkey)
	}
	if c.NATSUser != "" {
		if _, err := readVariable("NATS_PASSWORD_FILE", c.NATSPass, checkSecret); err != nil {
			return nil, err
		}
		options = append(options, nats.UserInfoHandler(func() (string, string) { return c.NATSUser, secret(c.NATSPass) }))
	}
	if c.NATSToken != "" {
		if _, err := readVariable("NATS_TOKEN_FILE", c.NATSToken, checkSecret); err != nil {
			return nil, err
		}
		options = append(options, nats.TokenHandler(func() string { return secret(c.NATSToken) }))
	}
	if c.NATSCA != "" {
		if _, err := readVariable("NATS_TLS_CA", c.NATSCA, checkCA); err != nil {
			return nil, err
		}
		options = append(options, nats.RootCAs(c.NATSCA))
	}
	if c.NATSCert != "" {
		key, err := readVariable("NATS_TLS_KEY", c.NATSKey, nil)
		if err != nil {
			return nil, err
		}
		pair := func(cert []byte) error { return checkPair(cert, key) }
		if _, err := readVariable("NATS_TLS_CERT", c.NATSCert, pair); err != nil {
			return nil, err
		}
		options = append(options, nats.ClientCert(c.NATSCert, c.NATSKey))
	}
	return options, nil
}

// readVariable reads the file that a variable names, and checks what is in it unless check is nil.
func readVariable(env, path string, check func([]byte) error) ([]byte, error) {
	data, err := os.ReadFile(path)
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err // without the path, which is told anyway
	}
	if err == nil && check != nil {
		err = check(data)
	}
	if err != nil {
		k := keyNamed(env)
		return nil, &VariableError{Name: k.Name, Found: path, Expected: k.Form, Err: err}
	}
	return data, nil
}

// checkCreds says nothing of what it found: it may be a secret, if in the wrong place.
func checkCreds(data []byte) error {
	token, err := nkeys.ParseDecoratedJWT(data)
	if err == nil {
		_, err = jwt.DecodeUserClaims(token)
	}
	if err != nil {
		return errors.New("no user's JWT in it")
	}
	if _, err := nkeys.ParseDecoratedUserNKey(data); err != nil {
		return errors.New("no user's seed in it")
	}
	return nil
}

// checkNkey, likewise.
func checkNkey(data []byte) error {
	keys, err := nkeys.ParseDecoratedNKey(data)
	if err != nil {
		return errors.New("no seed in it")
	}
	defer keys.Wipe()
	if public, err := keys.PublicKey(); err != nil || !nkeys.IsValidPublicUserKey(public) {
		return errors.New("the seed in it is no user's")
	}
	return nil
}

func checkSecret(data []byte) error {
	switch line := strings.TrimRight(string(data), "\r\n"); {
	case line == "":
		return errors.New("nothing in it")
	case strings.ContainsAny(line, "\r\n"):
		return errors.New("several lines in it")
	}
	return nil
}

// secret is what a file holds now; if it can't be read any more, the broker refuses the empty one.
func secret(path string) string {
	data, _ := os.ReadFile(path)
	return strings.TrimRight(string(data), "\r\n")
}

func checkPair(cert, key []byte) error {
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return err
	}
	if end := pair.Leaf.NotAfter; time.Now().After(end) {
		return fmt.Errorf("it expired at %s", end.UTC().Format(time.RFC3339))
	}
	return nil
}

func checkCA(data []byte) error {
	if !x509.NewCertPool().AppendCertsFromPEM(data) {
		return errors.New("no certificate in it")
	}
	return nil
}
